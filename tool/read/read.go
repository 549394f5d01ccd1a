// Package read provides the Read tool, which shows a file to the model and fills the read
// state that edits rely on.
//
// Trust: it opens the one file it is given, without passing through a symbolic link that
// appeared since the path was judged, and never one that is not a regular file. What may be
// read is decided by the pipeline; the tool itself only reports what the workspace's guard
// found. Content is untrusted: images are measured before they are decoded, notebooks and PDFs
// are bounded, and pdftotext, if installed, runs on the bytes of the file without a shell.
// What remains: a flaw in a decoder or in pdftotext can be exploited with the rights of the
// process.
//
// The tool is safe for concurrent use.
package read

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/haftdev/haft/internal/lazyregexp"
	"github.com/haftdev/haft/internal/plural"
	"github.com/haftdev/haft/internal/workspace/disk"
	"github.com/haftdev/haft/internal/workspace/guard"
	"github.com/haftdev/haft/internal/workspace/textfile"
	"github.com/haftdev/haft/tool"
	"github.com/haftdev/haft/tool/internal/filetool"
	"github.com/haftdev/haft/tool/internal/picture"
	"github.com/haftdev/haft/workspace"
)

//go:embed read.md
var description string

// Input is what the model sends.
type Input struct {
	FilePath   string `json:"file_path" jsonschema:"Absolute path of the file." haft:"path;alias=path|file|filename|filePath;min=1;example=/project/main.go"`
	Offset     int    `json:"offset,omitempty" jsonschema:"First line to show, counted from 1; in a notebook, the first cell." haft:"min=0"`
	Limit      int    `json:"limit,omitempty" jsonschema:"How many lines or cells to show." haft:"min=1;default=2000"`
	Pages      string `json:"pages,omitempty" jsonschema:"Pages of a PDF to show as text, such as 3 or 1-5." haft:"max=20"`
	Encoding   string `json:"encoding,omitempty" jsonschema:"The encoding of the text, such as gbk, if it was misdetected." haft:"alias=charset;example=gbk"`
	AllowLarge bool   `json:"allow_large,omitempty" jsonschema:"Show up to four times as much text in one result."`
}

// Output is what programs get.
type Output struct {
	Type string `json:"type" haft:"enum=text|image|pdf|parts|notebook"`
	File File   `json:"file"`
}

// File is what was read. Which fields are set depends on the type.
type File struct {
	FilePath string `json:"filePath,omitempty"`
	// text, and parts
	Content    *string `json:"content,omitempty"`
	NumLines   *int    `json:"numLines,omitempty"`
	StartLine  *int    `json:"startLine,omitempty"`
	TotalLines *int    `json:"totalLines,omitempty"`
	Truncated  bool    `json:"truncatedByTokenCap,omitempty"`
	Encoding   string  `json:"encoding,omitempty"`
	// image and pdf
	Data         string      `json:"base64,omitempty"`
	MediaType    string      `json:"type,omitempty"`
	OriginalSize int64       `json:"originalSize,omitempty"`
	Dimensions   *Dimensions `json:"dimensions,omitempty"`
	// notebook
	Cells []Cell `json:"cells,omitempty"`
	// Notes are for the model, in addition to the content.
	Notes []string `json:"notes,omitempty"`
}

// Options configures the tool.
type Options struct {
	// PDFText returns the text of some pages of a PDF. Nil means pdftotext, if it is installed.
	PDFText func(ctx context.Context, pdf disk.File, first, last int) (string, error)
}

type reader struct {
	ws      *workspace.Workspace
	images  picture.Fitter
	pdfText func(ctx context.Context, pdf disk.File, first, last int) (string, error)
}

// New returns the tool for a workspace.
func New(ws *workspace.Workspace, opts *Options) tool.Tool {
	r := &reader{ws: ws, images: picture.NewFitter(), pdfText: pdftotext}
	if opts != nil && opts.PDFText != nil {
		r.pdfText = opts.PDFText
	}
	return tool.New(tool.Def[Input, Output]{
		Name:        "Read",
		SearchHint:  "read show open view file image pdf notebook lines",
		Description: description,
		Marks: func(Input) tool.Marks {
			return tool.Marks{ReadOnly: true, ConcurrencySafe: true, Effect: tool.Pure}
		},
		Validate: r.validate,
		Permission: func(_ context.Context, c *tool.Call, in Input) tool.Verdict {
			return filetool.ReadView(ws, c, in.FilePath)
		},
		Paths:           func(_ *tool.Call, in Input) tool.Paths { return filetool.Reads(in.FilePath) },
		Classify:        func(in Input) string { return "read " + in.FilePath },
		Run:             r.run,
		Render:          render,
		Summarize:       summarize,
		SummarizeResult: summarizeResult,
		MaxResult:       1_000_000, // it bounds itself, by lines and tokens
	})
}

var pageRange = lazyregexp.New(`^([1-9][0-9]{0,5})(?:-([1-9][0-9]{0,5}))?$`)

func (r *reader) validate(_ context.Context, _ *tool.Call, in Input) *tool.Problem {
	if in.Pages != "" {
		if _, _, err := pages(in.Pages); err != nil {
			return filetool.Problem(err)
		}
	}
	if err := filetool.CheckEncoding(in.Encoding); err != nil {
		return filetool.Problem(err)
	}
	return filetool.Problem(filetool.CheckPath(r.ws, in.FilePath, "file_path"))
}

// run finds out what kind of file it is and shows it as that.
func (r *reader) run(ctx context.Context, c *tool.Call, in Input) (Output, error) {
	facts, f, info, err := r.ws.StreamPinned(c.ID, in.FilePath, "file_path")
	if err != nil {
		return Output{}, filetool.Error(err)
	}
	defer f.Close()
	first := int64(headSize)
	if info.Size > 0 && info.Size <= smallSize {
		first = info.Size // all of it, in one step
	}
	head := make([]byte, first)
	n, err := f.ReadAt(head, 0)
	if err != nil && (n == 0 && info.Size > 0 || first == info.Size && !errors.Is(err, io.EOF)) {
		return Output{}, filetool.Error(fmt.Errorf("could not read %s: %w", facts.Path, err))
	}
	out, err := r.show(ctx, c, in, opened{facts: facts, file: f, info: info, head: head[:min(n, headSize)], first: head[:n]})
	if err != nil {
		return Output{}, filetool.Error(err)
	}
	out.File.FilePath = facts.Path
	return out, nil
}

// opened is a file at hand.
type opened struct {
	facts guard.Facts
	file  disk.File
	info  disk.Info
	head  []byte // its first bytes
	first []byte // what was read of it
}

const (
	headSize  = 512      // what the kind of a file is told by
	smallSize = 64 << 10 // a file up to this size is read in one step
)

func (r *reader) show(ctx context.Context, c *tool.Call, in Input, f opened) (Output, error) {
	kind := textfile.Magic(f.head)
	ext := strings.ToLower(filepath.Ext(f.facts.Path))
	switch {
	case kind == "PDF document" && in.Pages != "":
		return r.showPages(ctx, in, f)
	case kind == "PDF document":
		return r.showPDF(c, f)
	case in.Pages != "":
		return Output{}, tool.Errorf("pages is only for PDFs, and %s is not one. Use offset and limit for text.", f.facts.Path)
	case imageTypes[kind] != "":
		return r.showImage(ctx, c, f, imageTypes[kind])
	case imageExtensions[ext]:
		return Output{}, tool.Errorf("%s is named like an image, but its content is not an image: it starts with %s.", f.facts.Path, hexOf(f.head))
	case ext == ".ipynb":
		return r.showNotebook(ctx, c, in, f)
	}
	return r.showText(ctx, c, in, f)
}

func hexOf(b []byte) string {
	if len(b) == 0 {
		return "nothing: it is empty"
	}
	return fmt.Sprintf("% x", b[:min(len(b), 12)])
}

func summarize(in Input) string {
	s := filetool.Base(in.FilePath)
	if in.Offset > 1 || in.Limit > 0 {
		s += fmt.Sprintf(" from line %d", max(in.Offset, 1))
	}
	if in.Pages != "" {
		s += " pages " + in.Pages
	}
	return s
}

func summarizeResult(out Output) string {
	switch {
	case out.Type == "text" && out.File.NumLines != nil:
		if *out.File.NumLines == *out.File.TotalLines {
			return plural.Of(*out.File.TotalLines, "line")
		}
		return fmt.Sprintf("%d of %s", *out.File.NumLines, plural.Of(*out.File.TotalLines, "line"))
	case out.Type == "notebook":
		return plural.Of(len(out.File.Cells), "cell")
	}
	return fmt.Sprintf("%s, %d bytes", out.Type, out.File.OriginalSize)
}
