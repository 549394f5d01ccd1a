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
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/haftdev/haft/internal/text/lazyregexp"
	"github.com/haftdev/haft/internal/text/plural"
	"github.com/haftdev/haft/internal/tools/filetool"
	"github.com/haftdev/haft/internal/tools/picture"
	"github.com/haftdev/haft/internal/world/workspace"
	"github.com/haftdev/haft/internal/world/workspace/blob"
	"github.com/haftdev/haft/internal/world/workspace/disk"
	"github.com/haftdev/haft/internal/world/workspace/guard"
	"github.com/haftdev/haft/internal/world/workspace/readstate"
	"github.com/haftdev/haft/internal/world/workspace/textfile"
	"github.com/haftdev/haft/tool"
	"golang.org/x/text/transform"
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
	Force      bool   `json:"force,omitempty" jsonschema:"Show the lines again although you have seen them and they are unchanged."`
	AllowLarge bool   `json:"allow_large,omitempty" jsonschema:"Show up to four times as much text in one result."`
}

// tokens is how much text one result may hold.
func (in Input) tokens() int {
	if in.AllowLarge {
		return 4 * maxTokens
	}
	return maxTokens
}

// callOutput is what programs get.
type callOutput struct {
	Type string `json:"type" haft:"enum=text|image|pdf|parts|notebook"`
	File file   `json:"file"`
}

// file is what was read. Which fields are set depends on the type.
type file struct {
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
	Dimensions   *dimensions `json:"dimensions,omitempty"`
	// notebook
	Cells []cell `json:"cells,omitempty"`
	// Notes are for the model, in addition to the content.
	Notes []string `json:"notes,omitempty"`

	forced bool // it is shown although it was shown before
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
	return tool.New(tool.Def[Input, callOutput]{
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
func (r *reader) run(ctx context.Context, c *tool.Call, in Input) (callOutput, error) {
	facts, f, info, err := r.ws.StreamPinned(c.ID, in.FilePath, "file_path")
	if err != nil {
		return callOutput{}, filetool.Error(err)
	}
	defer f.Close()
	first := int64(headSize)
	if info.Size > 0 && info.Size <= smallSize {
		first = info.Size // all of it, in one step
	}
	head := make([]byte, first)
	n, err := f.ReadAt(head, 0)
	if err != nil && (n == 0 && info.Size > 0 || first == info.Size && !errors.Is(err, io.EOF)) {
		return callOutput{}, filetool.Error(fmt.Errorf("could not read %s: %w", facts.Path, err))
	}
	out, err := r.show(ctx, c, in, opened{facts: facts, file: f, info: info, head: head[:min(n, headSize)], first: head[:n]})
	if err != nil {
		return callOutput{}, filetool.Error(err)
	}
	out.File.FilePath, out.File.forced = facts.Path, in.Force
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

// sample reads a small file whole, and of a large one what its encoding can be told by. A file that says it is empty may be one
// of the kernel's, which have no size: it is streamed.
func (f opened) sample() (b []byte, whole bool, err error) {
	whole = f.info.Size > 0 && f.info.Size <= wholeSize
	if whole && f.info.Size <= smallSize {
		return f.first, true, nil
	}
	b = make([]byte, min(f.info.Size, sampleSize))
	if whole {
		b = make([]byte, f.info.Size)
	}
	n, err := f.file.ReadAt(b, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, false, fmt.Errorf("could not read %s: %w", f.facts.Path, err)
	}
	if b = b[:n]; !whole {
		b = wholeCharacters(b)
	}
	return b, whole, nil
}

// encoding tells the encoding by the sample or, where that is all ASCII, by the first part of the file that is not: an edit,
// which sees everything, must come to the same answer.
func (f opened) encoding(ctx context.Context, detect func([]byte) (textfile.Encoding, error), sample []byte, whole bool) (textfile.Encoding, error) {
	enc, err := detect(sample)
	if err != nil || whole || !enc.UTF8() || bytes.ContainsFunc(sample, beyondASCII) {
		return enc, err
	}
	buf := make([]byte, sampleSize)
	for at := int64(len(sample)); at < min(f.info.Size, maxScan) && ctx.Err() == nil; at += sampleSize {
		n, err := f.file.ReadAt(buf, at)
		if err != nil && !errors.Is(err, io.EOF) {
			return enc, err
		}
		if i := bytes.IndexFunc(buf[:n], beyondASCII); i >= 0 {
			n, _ = f.file.ReadAt(buf, at+int64(i))
			return detect(append(slices.Clip(sample[:min(len(sample), 512)]), wholeCharacters(buf[:n])...))
		}
	}
	return enc, ctx.Err()
}

func beyondASCII(r rune) bool { return r >= utf8.RuneSelf }

// wholeCharacters cuts a sample where no character is split: after the last line, or else before an incomplete one.
func wholeCharacters(b []byte) []byte {
	if i := bytes.LastIndexByte(b, '\n'); i > 0 && b[0] != 0xFF && b[0] != 0xFE {
		return b[:i+1]
	}
	b = b[:len(b)&^1]
	for n := 1; n < utf8.UTFMax && n < len(b); n++ {
		if c := b[len(b)-n]; utf8.RuneStart(c) {
			if c >= utf8.RuneSelf && !utf8.FullRune(b[len(b)-n:]) {
				return b[:len(b)-n]
			}
			break
		}
	}
	return b
}

const maxImageFile = 64 << 20 // bytes that are read at all

const (
	headSize  = 512      // what the kind of a file is told by
	smallSize = 64 << 10 // a file up to this size is read in one step
)

func (r *reader) show(ctx context.Context, c *tool.Call, in Input, f opened) (callOutput, error) {
	kind := textfile.Magic(f.head)
	ext := strings.ToLower(filepath.Ext(f.facts.Path))
	switch {
	case kind == "PDF document" && in.Pages != "":
		return r.showPages(ctx, in, f)
	case kind == "PDF document":
		return r.showPDF(c, f)
	case in.Pages != "":
		return callOutput{}, tool.Errorf("pages is only for PDFs, and %s is not one. Use offset and limit for text.", f.facts.Path)
	case imageTypes[kind] != "":
		return r.showImage(ctx, c, f, imageTypes[kind])
	case imageExtensions[ext]:
		return callOutput{}, tool.Errorf("%s is named like an image, but its content is not an image: it starts with %s.", f.facts.Path, hexOf(f.head))
	case ext == ".ipynb":
		return r.showNotebook(ctx, c, in, f)
	}
	return r.showText(ctx, c, in, f)
}

func (r *reader) showImage(ctx context.Context, c *tool.Call, f opened, mediaType string) (callOutput, error) {
	raw, err := readUpTo(f, maxImageFile)
	if err != nil {
		return callOutput{}, err
	}
	shown, err := r.images.Fit(ctx, raw, mediaType)
	if ctx.Err() != nil {
		return callOutput{}, ctx.Err()
	}
	if err != nil {
		return callOutput{}, tool.Errorf("%s cannot be shown as an image: %v. It starts with %s.", f.facts.Path, err, hexOf(f.head))
	}
	r.ws.Saw(c.Agent, readstate.Entry{Path: f.facts.Real, Hash: blob.Digest(raw), Size: f.info.Size, ModTime: f.info.ModTime})
	out := callOutput{Type: "image", File: file{Data: base64.StdEncoding.EncodeToString(shown.Data), MediaType: shown.MediaType, OriginalSize: int64(len(raw)), Dimensions: &shown.Dimensions}}
	if d := shown.Dimensions; d.OriginalWidth != d.DisplayWidth {
		out.File.Notes = append(out.File.Notes, fmt.Sprintf("The image has %d×%d pixels and is shown at %d×%d. Multiply coordinates by %.2f to get those of the file.",
			d.OriginalWidth, d.OriginalHeight, d.DisplayWidth, d.DisplayHeight, float64(d.OriginalWidth)/float64(d.DisplayWidth)))
	}
	return out, nil
}

// readUpTo reads a file whole, if it is not too large.
func readUpTo(f opened, most int64) ([]byte, error) {
	if f.info.Size > most {
		return nil, tool.Errorf("%s has %d bytes; the limit is %d. Make a smaller version with Bash first.", f.facts.Path, f.info.Size, most)
	}
	raw, err := io.ReadAll(io.NewSectionReader(f.file, 0, most))
	if err != nil {
		return nil, fmt.Errorf("could not read %s: %w", f.facts.Path, err)
	}
	return raw, nil
}

func (r *reader) showNotebook(ctx context.Context, c *tool.Call, in Input, f opened) (callOutput, error) {
	raw, err := readUpTo(f, maxNotebook)
	if err != nil {
		return callOutput{}, err
	}
	var nb nbFormat
	if err := json.Unmarshal(bytes.TrimPrefix(raw, []byte("\xEF\xBB\xBF")), &nb); err != nil || nb.Cells == nil {
		return callOutput{}, tool.Errorf("%s is not a Jupyter notebook of format 4: %s. Use Bash to look at its text.", f.facts.Path, notebookFault(err))
	}
	out := callOutput{Type: "notebook", File: file{OriginalSize: int64(len(raw))}}
	shop := &imageShop{Fitter: r.images, images: maxImages, pixels: maxPixels}
	total := len(*nb.Cells)
	from := min(max(in.Offset, 1), total+1) - 1
	next := min(total, from+cmp.Or(in.Limit, defaultLimit))
	for i, used := from, 0; i < next; i++ {
		cell, notes := nb.cell(ctx, i, f.facts.Path, shop)
		if err := ctx.Err(); err != nil {
			return callOutput{}, err
		}
		if used += cell.tokens(); used > in.tokens() && i > from {
			next, out.File.Truncated = i, true
			break
		}
		out.File.Cells, out.File.Notes = append(out.File.Cells, cell), append(out.File.Notes, notes...)
	}
	out.File.Notes = append(out.File.Notes, notebookNotes(f.facts.Path, in, from, next, total, shop.refused)...)
	seen := workspace.Whole
	if next-from < total {
		seen.To = 1 // not enough to replace the file by
	}
	r.ws.Saw(c.Agent, readstate.Entry{Path: f.facts.Real, Hash: blob.Digest(raw), Size: f.info.Size, ModTime: f.info.ModTime, Base: raw, Ranges: []readstate.Range{seen}})
	return out, nil
}

// notebookNotes says what the cells themselves do not.
func notebookNotes(path string, in Input, from, next, total, images int) []string {
	var out []string
	say := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	switch {
	case total == 0:
		say("The notebook has no cells.")
	case from == total:
		say("The notebook has %s, so there is nothing at cell %d. Call Read with an offset from 1 to %d.", plural.Of(total, "cell"), in.Offset, total)
	case next < total:
		say("%s of %d %s shown. To continue, call Read with file_path %q and offset %d.", span("Cell", from+1, next), total, verb(from+1, next), path, next+1)
	}
	if images > 0 {
		say("%s not shown: damaged, or over the limit.", plural.Of(images, "image"))
	}
	return out
}

// notebookFault says what is wrong with the file, not with our reading of it.
func notebookFault(err error) string {
	var kind *json.UnmarshalTypeError
	switch {
	case err == nil:
		return "it has no cells array"
	case errors.As(err, &kind) && kind.Field != "":
		return fmt.Sprintf("%s must not be a %s", kind.Field, kind.Value)
	case errors.As(err, &kind):
		return fmt.Sprintf("it has a %s where none is allowed", kind.Value)
	}
	return err.Error()
}

// showPDF sends the document as it is.
func (r *reader) showPDF(c *tool.Call, f opened) (callOutput, error) {
	if f.info.Size > maxPDF {
		return callOutput{}, tool.Errorf("%s has %d bytes; PDFs over %d are not sent whole. Call Read with pages, such as \"1-%d\", to get their text.", f.facts.Path, f.info.Size, maxPDF, maxPages)
	}
	raw, err := readUpTo(f, maxPDF)
	if err != nil {
		return callOutput{}, err
	}
	r.ws.Saw(c.Agent, readstate.Entry{Path: f.facts.Real, Hash: blob.Digest(raw), Size: f.info.Size, ModTime: f.info.ModTime})
	return callOutput{Type: "pdf", File: file{Data: base64.StdEncoding.EncodeToString(raw), OriginalSize: int64(len(raw))}}, nil
}

// showPages shows the text of some pages.
func (r *reader) showPages(ctx context.Context, in Input, f opened) (callOutput, error) {
	first, last, err := pages(in.Pages)
	if err != nil {
		return callOutput{}, err
	}
	// One page more than is wanted tells whether there is one.
	text, err := r.pdfText(ctx, f.file, first, last+1)
	if err != nil {
		return callOutput{}, err
	}
	// pdftotext ends every page with a form feed.
	parts := strings.Split(strings.TrimSuffix(text, "\f"), "\f")
	out := callOutput{Type: "parts", File: file{OriginalSize: f.info.Size}}
	content, shown := somePages(parts[:min(len(parts), last-first+1)], first, in.tokens())
	out.File.Content, out.File.Truncated = &content, shown < min(len(parts), last-first+1)
	end := first + shown - 1
	say := func(format string, args ...any) {
		out.File.Notes = append(out.File.Notes, fmt.Sprintf(format, args...))
	}
	switch {
	case strings.TrimSpace(strings.Join(parts[:shown], "")) == "":
		say("These pages have no text or are beyond the end. To see scanned pages, call Read without pages.")
	case out.File.Truncated:
		say("%s %s shown (the result is limited to about %d tokens). To continue, call Read with pages \"%d-%d\".", span("Page", first, end), verb(first, end), in.tokens(), end+1, last)
	case shown < len(parts):
		say("%s %s shown. To continue, call Read with pages \"%d-%d\".", span("Page", first, end), verb(first, end), end+1, end+1+last-first)
	case first == end:
		say("Page %d is shown; it is the last.", first)
	default:
		say("Pages %d-%d are shown; page %d is the last.", first, end, end)
	}
	if strings.HasSuffix(content, cutPage) {
		say("The text of page %d is cut off. To see all of it, use Bash: pdftotext -layout -f %d -l %d %s -", end, end, end, f.facts.Path)
	}
	return out, nil
}

const cutPage = "… [cut]\n"

// somePages joins as many pages as the tokens allow and says how many. The first is shown in any case, but cut.
func somePages(parts []string, first, most int) (string, int) {
	var b strings.Builder
	used := 0
	for i, p := range parts {
		p = strings.ToValidUTF8(strings.TrimRight(p, "\n "), "\uFFFD")
		used += tokens(p)
		switch {
		case used > most && i > 0:
			return b.String(), i
		case used > most:
			fmt.Fprintf(&b, "[page %d]\n%s%s", first, strings.ToValidUTF8(p[:min(len(p), most)], ""), cutPage)
			return b.String(), 1
		}
		fmt.Fprintf(&b, "[page %d]\n%s\n", first+i, p)
	}
	return b.String(), len(parts)
}

// pages reads a range of pages.
func pages(s string) (first, last int, err error) {
	m := pageRange.FindStringSubmatch(s)
	if m == nil {
		return 0, 0, tool.Errorf("pages must be a page or a range, such as 3 or 1-5, not %q.", s)
	}
	first, _ = strconv.Atoi(m[1])
	last = first
	if m[2] != "" {
		last, _ = strconv.Atoi(m[2])
	}
	switch {
	case last < first:
		return 0, 0, tool.Errorf("pages %q ends before it begins. Use %d-%d.", s, last, first)
	case last-first >= maxPages:
		return 0, 0, tool.Errorf("pages %q is more than one call can show. Use at most %d pages, such as %d-%d.", s, maxPages, first, first+maxPages-1)
	}
	return first, last, nil
}

// showText shows a range of lines. The file is streamed to its end whatever the range, unless it is huge: its hash and number of
// lines are part of what is known afterwards.
func (r *reader) showText(ctx context.Context, c *tool.Call, in Input, f opened) (callOutput, error) {
	sample, whole, err := f.sample()
	if err != nil {
		return callOutput{}, err
	}
	detect := func(b []byte) (textfile.Encoding, error) { return r.ws.Encoding(c.Agent, f.facts.Real, b) }
	if said := filetool.Encoding(in.Encoding); said != nil {
		detect = func(b []byte) (textfile.Encoding, error) { return said.For(sample), nil }
	}
	enc, err := f.encoding(ctx, detect, sample, whole)
	if err != nil {
		return callOutput{}, binaryError(f, err)
	}
	unsaved := false
	if whole || f.info.Size == 0 {
		if text, differs := r.ws.Unsaved(ctx, f.facts.Path, sample, enc); differs {
			sample, whole, unsaved = text, true, true
		}
	}
	eol := textfile.EOLOf(textfile.Decode(sample, enc).Bytes())

	var source io.Reader = bytes.NewReader(sample)
	if !whole {
		source = io.LimitReader(contextReader{ctx, f.file}, f.info.Size+maxGrowth)
	}
	sum := sha256.New()
	raw := &counted{r: io.TeeReader(source, sum)}
	if _, err := io.CopyN(io.Discard, raw, int64(len(enc.BOM()))); err != nil && !errors.Is(err, io.EOF) {
		return callOutput{}, fmt.Errorf("could not read %s: %w", f.facts.Path, err)
	}
	var text io.Reader = raw
	if !whole && !enc.Wide() {
		text = textOnly{raw}
	}
	if codec := enc.Codec(); codec != nil {
		text = transform.NewReader(text, codec.NewDecoder())
	}
	w := newWindow(in, eol)
	buf := make([]byte, min(f.info.Size+1, 64<<10)) // a small file needs no more, and most are small
	if err := w.scan(text, buf); err != nil {
		if ctx.Err() != nil {
			return callOutput{}, ctx.Err()
		}
		return callOutput{}, binaryError(f, fmt.Errorf("could not read %s: %w", f.facts.Path, err))
	}
	if w.stopped {
		return w.output(f.facts.Path, in, enc, eol), nil
	}

	e := readstate.Entry{Path: f.facts.Real, Hash: hex.EncodeToString(sum.Sum(nil)), Size: raw.n, ModTime: f.info.ModTime,
		Encoding: enc.String(), EOL: string(eol), Given: in.Encoding != ""}
	if before, ok := r.ws.Seen(c.Agent).Get(e.Path); ok && before.Given && before.Encoding == e.Encoding {
		e.Given = true
	}
	if whole {
		e.Base = sample
	}
	if len(w.lines) > 0 {
		e.Ranges = []readstate.Range{{From: w.from, To: w.from + len(w.lines) - 1}}
	}
	r.ws.Saw(c.Agent, e)
	out := w.output(f.facts.Path, in, enc, eol)
	if unsaved {
		out.File.Notes = append(out.File.Notes, "This is the file as it is in the user's editor, with unsaved changes. The file on disk is different; commands and edits work on the file on disk.")
	}
	return out, nil
}

func binaryError(f opened, err error) error {
	var b *textfile.BinaryError
	if !errors.As(err, &b) {
		return err
	}
	return tool.Errorf("%s is not text: %s, %d bytes. Read shows text, images (PNG, JPEG, GIF, WebP), PDFs and notebooks; look at other files with Bash (file, xxd, unzip -l).", f.facts.Path, b.Kind, f.info.Size)
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

func summarizeResult(out callOutput) string {
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
