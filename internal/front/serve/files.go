package serve

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"unicode/utf8"

	"github.com/haftdev/haft/internal/front/headless"
	"github.com/haftdev/haft/internal/front/timeline"
	"github.com/haftdev/haft/internal/sys/regular"
	"github.com/haftdev/haft/internal/world/workspace/blob"
	"github.com/haftdev/haft/session"
	"github.com/haftdev/haft/tool"
	"github.com/haftdev/haft/wire"
)

// fileRoutes are those about what sessions do to files.
func (s *Server) fileRoutes() []route {
	return []route{
		takes(http.StatusOK, "POST", "/sessions/{id}/rewind", "Restore files to how they were before a message or call", s.rewind),
		answers(http.StatusOK, "GET", "/sessions/{id}/checkpoints", "The points that the session can be rewound to", s.getCheckpoints),
		answers(http.StatusOK, "GET", "/sessions/{id}/diff", "What a call, or the whole session, changed in files", s.getDiff, parameter{"call", "the tool_use id of the call"}),
		{"GET", "/sessions/{id}/export", "The session as one HTML file, without secrets", nil, http.StatusOK, nil, nil, s.export},
		answers(http.StatusOK, "GET", "/sessions/{id}/file", "The current content of a file of a running session", s.getFile, parameter{"path", "path of the file"}),
	}
}

// rewind brings files back. What other programs have changed since is in the way unless
// the client discards it.
func (s *Server) rewind(r *http.Request, in *Rewind) (Rewound, error) {
	w, err := s.watched(r)
	if err != nil {
		return Rewound{}, err
	}
	defer w.release()
	return s.back.Rewind(r.Context(), w.id, w.file(), in)
}

// getCheckpoints lists the prompts, and the calls that changed files.
func (s *Server) getCheckpoints(r *http.Request) (Checkpoints, error) {
	w, err := s.watched(r)
	if err != nil {
		return Checkpoints{}, err
	}
	defer w.release()
	w.mu.Lock()
	defer w.mu.Unlock()
	list := Checkpoints{Checkpoints: []Checkpoint{}}
	for _, i := range w.fold.Items(0, w.fold.Summary().Items) {
		c := Checkpoint{ID: i.ID, Kind: i.Kind, Item: i.Index, At: i.At, Text: i.Text}
		switch {
		case i.Kind == timeline.Prompt && i.Lane == "":
		case i.Call != nil && len(i.Call.Files) > 0:
			c.Text, c.Files = i.Call.Tool, append(c.Files, i.Call.Files...)
		default:
			continue
		}
		list.Checkpoints = append(list.Checkpoints, c)
	}
	return list, nil
}

// getDiff returns what a call, or all of the session, changed in files.
func (s *Server) getDiff(r *http.Request) (*wire.Change, error) {
	w, err := s.watched(r)
	if err != nil {
		return nil, err
	}
	defer w.release()
	path := w.file()
	use, call := r.URL.Query().Get("call"), ""
	first, last := map[string]*session.Checkpoint{}, map[string]*session.Checkpoint{}
	var order []string
	for e, err := range session.Entries(r.Context(), path) {
		if err != nil {
			return nil, err
		}
		if e.Call != nil && use != "" && e.Call.UseID == use {
			call = e.Call.ID
		}
		c := e.Checkpoint
		if c == nil || use != "" && (call == "" || c.CallID != call) {
			continue
		}
		if first[c.Path] == nil {
			first[c.Path] = c
			order = append(order, c.Path)
		}
		last[c.Path] = c
	}
	preview := &tool.Preview{}
	for _, name := range order {
		preview.Files = append(preview.Files, fileChange(r.Context(), name, first[name], last[name], session.BlobsOf(path)))
	}
	return headless.ChangeOf(preview), nil
}

// fileChange is what became of a file between two checkpoints.
func fileChange(ctx context.Context, path string, first, last *session.Checkpoint, blobs blob.Store) tool.FileChange {
	out := tool.FileChange{Path: path}
	if first.Before != "" || first.Link != "" {
		out.Before = version(ctx, path, first.Before, fs.FileMode(first.Mode), first.Link, blobs)
	}
	if last.After != "" || last.AfterLink != "" {
		out.After = version(ctx, path, last.After, fs.FileMode(last.AfterMode), last.AfterLink, blobs)
	}
	return out
}

// maxVersion is how much of a file is read to show what changed in it.
const maxVersion = 4 << 20

// version is a file as it was. A content that was not kept may still be in the file.
func version(ctx context.Context, path, digest string, mode fs.FileMode, link string, blobs blob.Store) *tool.Version {
	if link != "" {
		return tool.NewVersion(mode|fs.ModeSymlink, []byte(link), []byte(link))
	}
	raw, err := blobs.Get(ctx, digest)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, os.ErrNotExist) {
		if raw, err = regular.Read(path, maxVersion); err == nil && blob.Digest(raw) != digest {
			err = fs.ErrNotExist
		}
	}
	if err != nil || len(raw) > maxVersion {
		return &tool.Version{Mode: mode, Digest: digest, Binary: true} // what is not kept cannot be shown
	}
	if !utf8.Valid(raw) || bytes.IndexByte(raw, 0) >= 0 {
		return tool.NewVersion(mode, raw, nil)
	}
	return tool.NewVersion(mode, raw, append([]byte{}, raw...)) // not nil, also if it is empty
}

// getFile returns a file as the session's rules let it be read.
func (s *Server) getFile(r *http.Request) (FileText, error) {
	w, err := s.watched(r)
	if err != nil {
		return FileText{}, err
	}
	defer w.release()
	var reply wire.ReadFileReply
	if err := s.back.Call(r.Context(), w.id, &wire.ReadFile{Path: r.URL.Query().Get("path")}, &reply); err != nil {
		return FileText{}, err
	}
	return FileText{reply.AbsPath, reply.Contents, reply.Truncated, reply.Lossy != nil && *reply.Lossy}, nil
}

// export sends a session as one file.
func (s *Server) export(w http.ResponseWriter, r *http.Request) {
	watch, err := s.watched(r)
	if err == nil {
		defer watch.release()
		if s.opts.Export == nil {
			err = &Problem{status: http.StatusNotImplemented, Code: "no_export", Message: "This server exports no sessions. Use 'haft sessions export'."}
		}
	}
	if err != nil {
		refuse(w, problem(err))
		return
	}
	w.Header().Set("Content-Type", "application/octet-stream") // never shown under this origin
	w.Header().Set("Content-Disposition", "attachment; filename=session.html")
	_ = s.opts.Export(r.Context(), watch.id, w) // who asked may be gone; a file that was cut is no page
}
