package harness_test

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/haftdev/haft/internal/guard/permission"
	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/internal/test/needtest"
	"github.com/haftdev/haft/model/script"
	"github.com/haftdev/haft/sched"
)

// document is a PDF of one page for each text. Readers repair the missing table.
func document(texts ...string) string {
	var kids, objects strings.Builder
	for i, text := range texts {
		page, content := 4+2*i, 5+2*i
		fmt.Fprintf(&kids, "%d 0 R ", page)
		var lines strings.Builder
		for line := range strings.Lines(text) {
			fmt.Fprintf(&lines, "(%s) Tj 0 -12 Td\n", strings.TrimSuffix(line, "\n"))
		}
		height := 12 * (strings.Count(text, "\n") + 3)
		stream := fmt.Sprintf("BT /F1 10 Tf 20 %d Td\n%sET\n", height-20, lines.String())
		fmt.Fprintf(&objects, "%d 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 1600 %d]/Contents %d 0 R/Resources<</Font<</F1 3 0 R>>>>>>endobj\n", page, height, content)
		fmt.Fprintf(&objects, "%d 0 obj<</Length %d>>stream\n%sendstream endobj\n", content, len(stream), stream)
	}
	return fmt.Sprintf("%%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Kids[%s]/Count %d>>endobj\n3 0 obj<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>endobj\n%strailer<</Root 1 0 R>>\n%%%%EOF\n", kids.String(), len(texts), objects.String())
}

// pagesAdvice is where a text says which pages to read.
var pagesAdvice = regexp.MustCompile(`pages,? (?:such as )?"(\d+-\d+)"`)

// TestWhatIsSaidAboutALongPDFWorks does what the model is told when a PDF cannot be sent: one with more pages than the model takes, one
// with too many bytes, and a page with too much text.
func TestWhatIsSaidAboutALongPDFWorks(t *testing.T) {
	needtest.Program(t, "pdftotext")
	r := newRig(t)
	var pages []string
	for i := range 700 {
		pages = append(pages, fmt.Sprintf("This is leaf %d.", i+1))
	}
	path := r.put("long.pdf", document(pages...))
	read := func(told string) script.Turn {
		advice := pagesAdvice.FindStringSubmatch(told)
		if advice == nil {
			t.Errorf("no pages are named:\n%.2000s", told)
			return says("lost")
		}
		return uses("Read", in("file_path", path, "pages", advice[1]))
	}
	var told []string
	r.serve(func(q *script.Request) script.Turn {
		results, _ := resultsIn(t, q.Body)
		switch told = append(told, results); q.Turn {
		case 0:
			return uses("Read", in("file_path", path))
		case 1, 2:
			return read(results)
		}
		return says("done")
	})
	c := r.talk(harness.Options{}, harness.TalkOptions{})
	defer c.Close(t.Context())
	r.say(c, "go")
	for i, want := range []string{"", "A PDF of 700 pages was left out", "This is leaf 20.", "This is leaf 21."} {
		if len(told) != 4 || !strings.Contains(told[i], want) {
			t.Fatalf("answer %d of %d does not say %q: %.2000s", i, len(told), want, told[min(i, len(told)-1)])
		}
	}

	heavy := r.put("heavy.pdf", document("This is heavy.")+strings.Repeat("%"+strings.Repeat("x", 1023)+"\n", 21<<10))
	out := callIn(t, c, permission.DontAsk, "Read", in("file_path", heavy))
	advice := pagesAdvice.FindStringSubmatch(out.Result.Text())
	if advice == nil {
		t.Fatalf("no pages are named: %s", out.Result.Text())
	}
	if out = callIn(t, c, permission.DontAsk, "Read", in("file_path", heavy, "pages", advice[1])); !strings.Contains(out.Result.Text(), "This is heavy.") {
		t.Errorf("%v: %s", out.Status, out.Result.Text())
	}

	full := r.put("full.pdf", document(strings.Repeat(strings.Repeat("word ", 40)+"\n", 800)+"The last line."))
	out = callIn(t, c, permission.DontAsk, "Read", in("file_path", full, "pages", "1"))
	_, command, found := strings.Cut(out.Result.Text(), "To see all of it, use Bash: ")
	command, _, _ = strings.Cut(command, "\n")
	if !found || !strings.Contains(command, filepath.Base(full)) {
		t.Fatalf("no command is named: %.300s … %s", out.Result.Text(), out.Result.Text()[max(0, len(out.Result.Text())-300):])
	}
	if out = callIn(t, c, permission.DontAsk, "Bash", in("command", command)); out.Status != sched.Succeeded || !strings.Contains(out.Result.Text(), "The last line.") {
		t.Errorf("%v: %.300s … %s", out.Status, out.Result.Text(), out.Result.Text()[max(0, len(out.Result.Text())-300):])
	}
}
