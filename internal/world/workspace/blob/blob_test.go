package blob

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

func TestDirKeepsContents(t *testing.T) {
	ctx, d := context.Background(), Dir(filepath.Join(t.TempDir(), "blobs"))
	content := []byte("what was there before")
	digest := Digest(content)
	if _, err := d.Get(ctx, digest); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("before it is kept: %v", err)
	}
	for range 2 {
		if err := d.Put(ctx, digest, content); err != nil {
			t.Fatal(err)
		}
	}
	got, err := d.Get(ctx, digest)
	if err != nil || !bytes.Equal(got, content) {
		t.Fatalf("got %q, %v", got, err)
	}
	path, _ := d.path(digest)
	if err := os.WriteFile(path, []byte("damaged"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Get(ctx, digest); err == nil {
		t.Error("a damaged blob is given out")
	}
}

func TestADigestIsNoPath(t *testing.T) {
	d := Dir(t.TempDir())
	for _, digest := range []string{"", "../../etc/passwd", "zz"} {
		if err := d.Put(context.Background(), digest, nil); err == nil {
			t.Errorf("%q is accepted", digest)
		}
	}
}
