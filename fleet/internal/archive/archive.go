// Package archive keeps sealed sessions outside of the engine: in a folder, or in a bucket of
// an object store that speaks the protocol of S3.
//
//	store, err := archive.Open("s3://bucket/prefix", os.Getenv)
//	location, err := store.Put(ctx, "id.jsonl", content)
//
// What Put has returned for is there to stay. Stores are safe for concurrent use.
//
// Trust model: the keys come from the environment (AWS_ACCESS_KEY_ID and so on) and are sent
// nowhere; a store that is not on this machine is reached by TLS only.
package archive

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"github.com/haftdev/haft/fleet/internal/engine"
)

// A Store keeps files by name; names have slashes.
type Store interface {
	// Put keeps a content, in place of one with the same name, and returns where it is.
	Put(ctx context.Context, name string, content []byte) (location string, err error)
	// Get returns a content.
	Get(ctx context.Context, name string) ([]byte, error)
}

// Open returns the store that a text names: s3://bucket or s3://bucket/prefix, or a folder.
func Open(to string, getenv func(string) string) (Store, error) {
	if strings.HasPrefix(to, scheme) {
		return openBucket(to, getenv)
	}
	dir, err := filepath.Abs(to)
	if err != nil {
		return nil, err
	}
	return folder(dir), nil
}

// Split returns the store and the name of what is at a location.
func Split(location string) (to, name string) {
	if strings.HasPrefix(location, scheme) {
		at := strings.LastIndexByte(location, '/')
		return location[:at], location[at+1:]
	}
	return filepath.Dir(location), filepath.Base(location)
}

// A folder is a store.
type folder string

func (f folder) Put(_ context.Context, name string, content []byte) (string, error) {
	path := filepath.Join(string(f), filepath.FromSlash(name))
	return path, engine.WriteFile(path, content)
}

func (f folder) Get(_ context.Context, name string) ([]byte, error) {
	return os.ReadFile(filepath.Join(string(f), filepath.FromSlash(name)))
}
