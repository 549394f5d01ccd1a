package tool

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io/fs"
	"slices"
)

// A Preview is everything that a call would change in files: what users see before they
// approve it, and what their approval covers. See [Tool.Preview].
type Preview struct {
	// Files are in no particular order, each once. None means that the call would not
	// change any file.
	Files []FileChange `json:"files,omitempty"`
	// Notes are what else there is to say about the change, a line each: what is not shown
	// file by file, and what is dropped.
	Notes []string `json:"notes,omitempty"`
	// Ran says that the call has already run where its effects reach nothing, and that Run
	// makes this change without doing the work again. Rules about files then judge what it
	// changed; if it changed nothing, no one has to be asked.
	Ran bool `json:"-"`
}

// A FileChange is the change of one file.
//
//	created    Before is nil
//	deleted    After is nil
//	renamed    From is the name that it had, with Before and After as they are
//	rewritten  both are there
//	mode only  both have the same content
type FileChange struct {
	Path   string   `json:"path"`           // absolute; where the file is afterwards, or was if it is deleted
	From   string   `json:"from,omitempty"` // absolute; "" if it keeps its name
	Before *Version `json:"before,omitempty"`
	After  *Version `json:"after,omitempty"`
	// Folded is a word for a file whose change is not meant to be read, such as
	// "generated": it is shown as one line. It is "" for any other file.
	Folded string `json:"folded,omitempty"`
	// Protected says why it matters who changes the file, such as "it is run by git"; such
	// files are shown first. It is "" for any other file.
	Protected string `json:"protected,omitempty"`
}

// FoldedGit is the word for what git records itself: its index, objects and references.
const FoldedGit = "git"

// A Version is a file before or after a change.
type Version struct {
	// Mode is the file's type and permissions; 0 is a regular file with the permissions
	// that the system gives to a new one.
	Mode fs.FileMode `json:"mode,omitempty"`
	// Size and Digest, a SHA-256 sum in hexadecimal, are those of the content: the bytes on
	// the disk, or a link's target.
	Size   int64  `json:"size"`
	Digest string `json:"digest"`
	// Raw is that content; nil if it is empty, or too large to hold.
	Raw []byte `json:"raw,omitempty"`
	// Text is the content as users read it, decoded from the file's encoding. Binary says
	// that there is none.
	Text   []byte `json:"text,omitempty"`
	Binary bool   `json:"binary,omitempty"`
}

// NewVersion returns a file with the content raw, which decodes to text; nil text means
// that it cannot be decoded.
func NewVersion(mode fs.FileMode, raw, text []byte) *Version {
	sum := sha256.Sum256(raw)
	return &Version{
		Mode: mode, Size: int64(len(raw)), Digest: hex.EncodeToString(sum[:]),
		Raw: raw, Text: text, Binary: text == nil && len(raw) > 0,
	}
}

// Digest identifies the change: two previews have the same digest if and only if the same
// files change from the same content and mode to the same content and mode. The digest of
// nil is "".
func (p *Preview) Digest() string {
	if p == nil {
		return ""
	}
	files := slices.Clone(p.Files)
	slices.SortFunc(files, func(a, b FileChange) int { return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.From, b.From)) })
	h := sha256.New()
	for _, f := range files {
		fmt.Fprintf(h, "%q %q", f.Path, f.From)
		f.Before.digest(h)
		f.After.digest(h)
	}
	return hex.EncodeToString(h.Sum(nil))
}

func (v *Version) digest(h hash.Hash) {
	if v == nil {
		fmt.Fprint(h, " none")
		return
	}
	fmt.Fprintf(h, " %o %d %s", uint32(v.Mode), v.Size, v.Digest)
}

// Unseen is the digest of an approval by a user who could not be shown what the call would
// change, because it was not known at that moment.
const Unseen = "unseen"

// ErrUnapproved is for a call that would make a different change from the one that was
// approved. See [Call.Approve].
var ErrUnapproved error = &Error{Message: "Nothing was changed: the file was changed by another program after this call was approved, " +
	"so the result would not be what was approved. Read the file, then send the call again to have the new change approved."}
