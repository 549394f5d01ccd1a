package webfetch

import (
	"encoding/base64"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/haftdev/haft/tool"
)

// render says where the text is from before the text, and how to go on after it.
func render(out Output) tool.Result {
	if out.Redirect != "" {
		return tool.Text(out.Result)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "From %s", out.URL)
	if out.Title != "" {
		fmt.Fprintf(&b, " (%s)", out.Title)
	}
	b.WriteString(":\n\n" + out.Result)
	if out.Note != "" {
		b.WriteString("\n\n[" + out.Note + "]")
	}
	r := tool.Text(b.String())
	data, err := base64.StdEncoding.DecodeString(out.Data)
	switch {
	case err != nil || len(data) == 0:
	case strings.HasPrefix(out.MediaType, "image/"):
		r.Content = append(r.Content, tool.Block{Type: tool.ImageBlock, MediaType: out.MediaType, Data: data})
	default:
		r.Content = append(r.Content, tool.Block{Type: tool.DocumentBlock, MediaType: out.MediaType, Data: data})
	}
	return r
}

func summarize(out Output) string {
	if out.Redirect != "" {
		return "redirects to " + out.Redirect
	}
	return fmt.Sprintf("%d %s, %d bytes", out.Code, out.CodeText, out.Bytes)
}

// A part is some of a text; end counts characters from the beginning of the whole.
type part struct {
	text string
	end  int
}

// window returns at most size characters of text from offset on, up to the end of
// a line if one is near, and how many characters there are in all.
func window(text string, offset, size int) (part, int) {
	total := utf8.RuneCountInString(text)
	if offset >= total {
		return part{end: total}, total
	}
	rest := skip(text, offset)
	if total-offset <= size {
		return part{rest, total}, total
	}
	shown := rest[:len(rest)-len(skip(rest, size))]
	if i := strings.LastIndexByte(shown, '\n'); i > len(shown)*4/5 {
		shown = shown[:i+1]
	}
	return part{shown, offset + utf8.RuneCountInString(shown)}, total
}

// skip returns text without its first n characters.
func skip(text string, n int) string {
	for i := range text {
		if n == 0 {
			return text[i:]
		}
		n--
	}
	return ""
}
