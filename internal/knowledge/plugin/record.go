package plugin

import (
	"encoding/json"
	"path/filepath"

	"github.com/haftdev/haft/internal/knowledge/shelf"
)

// RecordName is the file in the folder of an installed plugin that says where it is from.
const RecordName = ".haft-installed.json"

// A Record says where an installed plugin is from.
type Record struct {
	Plugin      string `json:"plugin"`
	Marketplace string `json:"marketplace"`
	Version     string `json:"version,omitempty"`
	Commit      string `json:"commit,omitempty"`
	Digest      string `json:"digest"` // of what was copied
}

// ID is the name that settings enable and disable it by.
func (r Record) ID() string { return r.Plugin + "@" + r.Marketplace }

// ReadRecord reads the record of a folder that a user's plugins are in; ok is false if the
// folder is not that of a plugin which haft installed.
func ReadRecord(dir string) (r Record, ok bool) {
	file, err := shelf.Open(dir).Read(RecordName, maxFile)
	if err != nil || json.Unmarshal([]byte(file.Text), &r) != nil {
		return Record{}, false
	}
	return r, r.Plugin == filepath.Base(dir) && r.Marketplace != ""
}
