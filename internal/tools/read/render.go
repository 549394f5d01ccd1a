package read

import (
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"

	"github.com/haftdev/haft/tool"
)

// render says how an output reads to the model.
func render(out callOutput) tool.Result {
	f := out.File
	notes := strings.Join(f.Notes, "\n")
	var r tool.Result
	switch out.Type {
	case "text":
		r = tool.Text(numbered(f))
		if n := deref(f.NumLines); n > 0 && !f.forced {
			r.Unchanged = fmt.Sprintf("%s of %s %s unchanged since you read them %s. To see them again, set force.",
				span("Line", deref(f.StartLine), deref(f.StartLine)+n-1), f.FilePath, verb(deref(f.StartLine), deref(f.StartLine)+n-1), tool.ShownWhere)
		}
	case "image":
		r = tool.Result{Content: []tool.Block{{Type: tool.ImageBlock, MediaType: f.MediaType, Data: decoded(f.Data)}}}
	case "pdf":
		r = tool.Text("PDF file read: " + f.FilePath + " (" + strconv.FormatInt(f.OriginalSize, 10) + " bytes)")
		r.Content = append(r.Content, tool.Block{Type: tool.DocumentBlock, MediaType: "application/pdf", Data: decoded(f.Data)})
	case "notebook":
		r.Content = renderCells(f.Cells)
	default:
		r = tool.Text(deref(f.Content))
	}
	if notes != "" {
		r.Content = addNotes(r.Content, "<system-reminder>\n"+notes+"\n</system-reminder>")
	}
	return r
}

// addNotes puts notes after the content, in the last text block if that is where it ends.
func addNotes(blocks []tool.Block, notes string) []tool.Block {
	if n := len(blocks); n > 0 && blocks[n-1].Type == tool.TextBlock {
		if blocks[n-1].Text != "" {
			blocks[n-1].Text += "\n\n"
		}
		blocks[n-1].Text += notes
		return blocks
	}
	return append(blocks, tool.Block{Type: tool.TextBlock, Text: notes})
}

// numbered writes the number of each line, a tab, and the line.
func numbered(f file) string {
	if f.NumLines == nil || *f.NumLines == 0 {
		return ""
	}
	start := 1
	if f.StartLine != nil {
		start = *f.StartLine
	}
	var b strings.Builder
	lines := strings.Split(deref(f.Content), "\n")
	if last := len(lines) - 1; last == *f.NumLines && lines[last] == "" { // the file's final newline begins no line
		lines = lines[:last]
	}
	for i, line := range lines {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(strconv.Itoa(start + i))
		b.WriteByte('\t')
		b.WriteString(line)
	}
	return b.String()
}

// decoded returns the bytes of base64; what a hook broke is empty.
func decoded(s string) []byte {
	b, err := base64.StdEncoding.DecodeString(s)
	if err != nil {
		return nil
	}
	return b
}

func deref[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}
