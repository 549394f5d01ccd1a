package workspace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/haftdev/haft/internal/world/workspace/atomic"
	"github.com/haftdev/haft/internal/world/workspace/blob"
	"github.com/haftdev/haft/internal/world/workspace/disk"
	"github.com/haftdev/haft/internal/world/workspace/guard"
	"github.com/haftdev/haft/internal/world/workspace/patch"
	"github.com/haftdev/haft/internal/world/workspace/readstate"
	"github.com/haftdev/haft/internal/world/workspace/textfile"
)

// Revision is a request to change one file.
type Revision struct {
	Agent string
	Path  guard.Facts
	// Make returns the new raw content for a given text of the file, and notes to show. It
	// must have no side effects: it may be called with the text that was read and again with
	// the current text. If the file is to be created, the text is nil.
	Make func(t *textfile.Text) (raw []byte, notes []string, err error)
	// Create allows the file to be missing.
	Create bool
	// Unseen allows changing a file that the agent has not read, for changes made by a program
	// and not by a model.
	Unseen bool
	// Whole says that Make ignores the old text.
	Whole bool
	// Check reports an error if merged content makes no sense. Nil accepts any content.
	Check func(t *textfile.Text) error
	// Encoding is the encoding of the file, or of the file to be created. Nil means the one
	// that the agent chose when it read the file, otherwise the one that the bytes and the
	// project suggest.
	Encoding *textfile.Encoding
	// OnConflict says what to do if another program changed the file in the same place. Empty
	// means to refuse.
	OnConflict Choice
	// Approve, if not nil, is called with what is about to be done, while the file is locked,
	// and can stop it.
	Approve func(*Outcome) error
}

// Outcome describes a changed file.
type Outcome struct {
	Path    string         // physical
	Spelled string         // as the caller named it, absolute
	Before  *textfile.Text // on disk before; nil if the file was created
	Mode    fs.FileMode    // of the file, unchanged; 0 if the file was created
	After   *textfile.Text
	Hunks   []patch.Hunk // from Before to After, five lines of context
	Foreign []patch.Hunk // what another program changed since the file was read
	Stale   bool         // another program did change it
	Notes   []string
}

// contextLines is the number of unchanged lines around a change in results.
const contextLines = 5

// Revise changes a file, or returns an error and leaves every byte of it as it was. Errors for
// the model are *Refusal, *edits.Refusal, *ConflictError, *textfile.RepertoireError and those
// of package atomic.
func (w *Workspace) Revise(ctx context.Context, r Revision) (*Outcome, error) {
	release, err := w.turn(ctx, r.Path.Real)
	if err != nil {
		return nil, err
	}
	defer release()
	o, f, err := w.draft(ctx, r)
	if err != nil {
		return nil, err
	}
	if r.Approve != nil {
		if err := r.Approve(o); err != nil {
			return nil, err
		}
	}
	if f != nil && bytes.Equal(o.After.Raw(), f.Raw) {
		e := f.entry()
		e.Given = w.given(r)
		w.remember(r, o, e)
		return o, nil
	}
	if err := w.store(ctx, r, f, o); err != nil {
		return nil, err
	}
	return o, nil
}

// Preview returns what Revise would do now, and does not do it.
func (w *Workspace) Preview(ctx context.Context, r Revision) (*Outcome, error) {
	o, _, err := w.draft(ctx, r)
	return o, err
}

// draft makes the new content, and returns it with the file as it is, which is nil if there is none.
func (w *Workspace) draft(ctx context.Context, r Revision) (*Outcome, *File, error) {
	f, err := w.Load(r.Path)
	var no *Refusal
	if r.Create && errors.As(err, &no) && no.Code == Missing && r.Path.Err == nil {
		raw, notes, err := r.Make(nil)
		if err != nil {
			return nil, nil, err
		}
		if _, seen := w.Seen(r.Agent).Get(r.Path.Real); seen {
			notes = append(notes, "the file was deleted after it was read; it has been created again.")
		}
		after, err := w.fresh(r, raw)
		if err != nil {
			return nil, nil, err
		}
		return &Outcome{Path: r.Path.Real, Spelled: r.Path.Path, After: after, Notes: notes, Hunks: patch.Diff(nil, after.Bytes(), contextLines)}, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	w.decodeAs(r, f)
	if f.Kind != nil {
		return nil, nil, refuse(Binary, "%s is not a text file (%s), so it was not changed. To change it, use Bash.", r.Path.Path, kindOf(f.Kind))
	}
	raw, o, err := w.plan(ctx, r, f)
	if err != nil {
		return nil, nil, err
	}
	o.Path, o.Spelled, o.Before, o.Mode = f.Path, r.Path.Path, f.Text, f.Info.Mode
	o.After = textfile.Decode(raw, f.Text.Encoding())
	o.Hunks = difference(f.Text, o.After)
	if r.Path.IsLink() {
		o.Notes = append(o.Notes, fmt.Sprintf("%s leads through a symbolic link to %s, which is the file that is changed.", r.Path.Path, f.Path))
	}
	if f.Info.Mode&0o222 == 0 && len(o.Hunks) > 0 {
		o.Notes = append(o.Notes, "the file is marked read-only ("+f.Info.Mode.Perm().String()+"); it was changed anyway and keeps its mode.")
	}
	return o, f, nil
}

// fresh is the text of a new file, in the encoding that the call, the text itself or the project names for it.
func (w *Workspace) fresh(r Revision, content []byte) (*textfile.Text, error) {
	enc := textfile.Encoding{}
	if declared, ok := textfile.Declared(content); ok {
		enc = declared
	} else if set := w.hints(r.Path.Real).Charset; set != nil {
		enc = *set
	}
	if r.Encoding != nil {
		enc = *r.Encoding
	}
	raw, err := enc.Encode(string(content))
	if err != nil {
		return nil, err
	}
	return textfile.Decode(append(enc.BOM(), raw...), enc), nil
}

// decodeAs reads the file in the encoding that the agent said, now or when it read it.
func (w *Workspace) decodeAs(r Revision, f *File) {
	enc := r.Encoding
	if seen, ok := w.Seen(r.Agent).Get(f.Path); enc == nil && ok && seen.Given {
		if said, err := textfile.Lookup(seen.Encoding); err == nil && said.Reads(f.Raw) {
			enc = &said
		}
	}
	if enc != nil {
		f.Text, f.Kind = textfile.Decode(f.Raw, enc.For(f.Raw)), nil
	}
}

// difference compares two texts line by line. Where both end their lines in \r, that is what lines end with.
func difference(a, b *textfile.Text) []patch.Hunk {
	lines := func(t *textfile.Text) []byte { return t.Bytes() }
	if a.EOL() == textfile.CR && !bytes.Contains(b.Bytes(), []byte("\n")) {
		lines = func(t *textfile.Text) []byte { return bytes.ReplaceAll(t.Bytes(), []byte("\r"), []byte("\n")) }
	}
	return patch.Diff(lines(a), lines(b), contextLines)
}

func kindOf(err error) string {
	var b *textfile.BinaryError
	if errors.As(err, &b) {
		return b.Kind
	}
	return err.Error()
}

// store keeps what is replaced, announces the change, writes, and remembers the new content as read.
func (w *Workspace) store(ctx context.Context, r Revision, before *File, o *Outcome) error {
	raw := o.After.Raw()
	digest := blob.Digest(raw)
	change := Change{Agent: r.Agent, Path: r.Path.Real, After: digest}
	var old *disk.Info
	if before != nil {
		old = &before.Info
		change.Before, change.Mode = before.Hash, before.Info.Mode
		if err := w.blobs.Put(ctx, before.Hash, before.Raw); err != nil {
			return w.cannotKeep(err, r.Path.Real, len(before.Raw))
		}
	}
	if w.onChange != nil {
		if err := w.onChange(ctx, change); err != nil {
			return err
		}
	}
	info, err := w.writer.Write(ctx, atomic.File{Path: r.Path.Real, Data: raw, Old: old})
	if err != nil {
		return w.explain(err, r.Path.Real)
	}
	w.remember(r, o, readstate.Entry{Path: r.Path.Real, Hash: digest, Size: info.Size, ModTime: info.ModTime,
		Encoding: o.After.Encoding().String(), EOL: string(o.After.EOL()), Base: raw, Given: w.given(r)})
	return nil
}

// given reports whether the agent said how the file is encoded.
func (w *Workspace) given(r Revision) bool {
	seen, ok := w.Seen(r.Agent).Get(r.Path.Real)
	return r.Encoding != nil || ok && seen.Given
}
