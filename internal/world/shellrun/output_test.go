package shellrun

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// TestReadNewLosesAndRepeatsNothing reads while another writes, in random
// pieces, and compares with what was written.
func TestReadNewLosesAndRepeatsNothing(t *testing.T) {
	for seed := range uint64(40) {
		random := rand.New(rand.NewPCG(seed, 0))
		written := randomOutput(random, random.IntN(3*headBytes))
		valid := seed%4 == 0
		if valid {
			written = bytes.ToValidUTF8(written, []byte("é"))
		}
		task := &Task{output: newOutput("t", newSpool(&SpoolOptions{Dir: t.TempDir()}), seed%2 == 0), done: make(chan struct{})}
		var writer sync.WaitGroup
		writer.Go(func() {
			for rest := written; len(rest) > 0; {
				n := min(1+random.IntN(20000), len(rest))
				task.output.Write(rest[:n])
				rest = rest[n:]
			}
			task.output.Close()
			close(task.done)
		})
		reader := rand.New(rand.NewPCG(seed, 1))
		var read []byte
		for {
			ended := task.Ended()
			read1 := task.ReadNew
			if seed%3 == 0 {
				read1 = task.ReadNewLines
			}
			data, lost := read1(1 + reader.IntN(30000))
			if lost != 0 {
				t.Fatalf("seed %d: %d bytes lost within the quota", seed, lost)
			}
			if valid && !utf8.Valid(data) {
				t.Fatalf("seed %d: half a character in %d bytes", seed, len(data))
			}
			read = append(read, data...)
			if ended && len(data) == 0 {
				break
			}
		}
		writer.Wait()
		if !bytes.Equal(read, written) {
			t.Fatalf("seed %d: read %d bytes, written %d", seed, len(read), len(written))
		}
	}
}

// Past the quota the count of what is lost is exact, so that read and lost make
// up what was written.
func TestReadNewCountsWhatIsLost(t *testing.T) {
	for seed := range uint64(8) {
		random := rand.New(rand.NewPCG(seed, 2))
		task := &Task{output: newOutput("t", newSpool(&SpoolOptions{Dir: t.TempDir(), Task: 400 << 10}), true), done: make(chan struct{})}
		written := randomOutput(random, 2<<20)
		var at int64
		check := func() {
			data, lost := task.ReadNew(1 + random.IntN(200000))
			at += lost
			if !bytes.Equal(data, written[at:at+int64(len(data))]) {
				t.Fatalf("seed %d: other bytes than those at %d", seed, at)
			}
			at += int64(len(data))
		}
		for rest := written; len(rest) > 0; {
			n := min(1+random.IntN(100000), len(rest))
			task.output.Write(rest[:n])
			rest = rest[n:]
			if random.IntN(4) == 0 {
				check()
			}
		}
		task.output.Close()
		close(task.done)
		for range 100 {
			check()
		}
		if at != int64(len(written)) {
			t.Fatalf("seed %d: %d bytes read or lost, %d written", seed, at, len(written))
		}
	}
}

func randomOutput(random *rand.Rand, n int) []byte {
	pieces := []string{"word ", "line\n", "€uro", "日本", "\xff", "\xe2\x82", "\r50%", "\x1b[31mred\x1b[0m", "🙂"}
	var b bytes.Buffer
	for b.Len() < n {
		b.WriteString(pieces[random.IntN(len(pieces))])
	}
	return b.Bytes()
}

func TestExcerptIsWholeOrSaysWhatIsMissing(t *testing.T) {
	for seed := range uint64(25) {
		random := rand.New(rand.NewPCG(seed, 3))
		o := newOutput("t", newSpool(&SpoolOptions{Dir: t.TempDir(), Task: 1 << 20}), false)
		var written []byte
		for range random.IntN(40) {
			p := randomOutput(random, random.IntN(60000))
			written = append(written, p...)
			o.Write(p)
		}
		o.Close()
		limit := 3000 + random.IntN(30000)
		e := o.Excerpt(limit, false)
		if n := utf8.RuneCountInString(e.Text); n > limit {
			t.Fatalf("seed %d: %d characters, limit %d", seed, n, limit)
		}
		if want := (Counts{int64(len(written)), int64(lines(written))}); e.Total != want {
			t.Fatalf("seed %d: counts %+v, want %+v", seed, e.Total, want)
		}
		if !e.Truncated {
			if e.Text != Clean(string(written)) {
				t.Fatalf("seed %d: not truncated, yet other than the output", seed)
			}
			continue
		}
		var bytesAll, linesAll, head, tail, omitted, omittedLines int
		if _, err := fmt.Sscanf(e.Text, "[Output truncated: %d bytes, %d lines in total. The first %d and last %d bytes are shown; %d bytes with %d line ends",
			&bytesAll, &linesAll, &head, &tail, &omitted, &omittedLines); err != nil {
			t.Fatalf("seed %d: %v in %.200q", seed, err, e.Text)
		}
		if bytesAll != len(written) || head+tail+omitted != len(written) || bytes.Count(written[head:len(written)-tail], []byte{'\n'}) != omittedLines {
			t.Fatalf("seed %d: the counts of %.200q do not add up to %d", seed, e.Text, len(written))
		}
		want := Clean(string(written[:head])) + "\n\n[…]\n\n" + Clean(string(written[len(written)-tail:]))
		if !strings.HasSuffix(e.Text, want) {
			t.Fatalf("seed %d: other text than the two ends", seed)
		}
		kept, err := os.ReadFile(e.Path)
		if err != nil {
			t.Fatal(err)
		}
		if len(written) <= 1<<20-quotaRest && !bytes.Equal(kept, written) {
			t.Fatalf("seed %d: the file is not the output", seed)
		}
	}
}

func lines(p []byte) int {
	n := bytes.Count(p, []byte{'\n'})
	if len(p) > 0 && p[len(p)-1] != '\n' {
		n++
	}
	return n
}

func TestClean(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"plain text stays", "a\tb\nc\n", "a\tb\nc\n"},
		{"colours go", "\x1b[1;31mred\x1b[0m\x1b[K", "red"},
		{"titles and links go", "\x1b]0;title\x07a\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "alink"},
		{"a progress bar leaves its first and its last state", "1%\r2%\r3%\r4%\r5%\r6%\r7%\r8%\r9%\r100%\ndone", "1%␍\n…␍\n100%\ndone"},
		{"data before a return stays", "北京\r 350.6\r\n上海\r 24.9\r\n", "北京␍\n 350.6\n上海␍\n 24.9\n"},
		{"a bar that ends with a return keeps its last state", "10%\r20%\r", "10%␍\n20%"},
		{"Windows line ends become newlines", "a\r\nb\r\n", "a\nb\n"},
		{"bytes that are no UTF-8 are marked", "a\xffb", "a\uFFFDb"},
		{"bells go", "a\ab\x00", "ab"},
		{"a backspace lets the next character take the place of the last", "a\ab\bc", "ac"},
		{"overstruck text is read once", "N\bNA\bAM\bME\bE", "NAME"},
		{"a spinner leaves its last state", "wait |\b/\b-\b\ndone\b\b", "wait -\ndone"},
		{"backspaces stop at the beginning of the line", "a\n\b\b\bb", "a\nb"},
		{"C1 controls go", "a\u0085b\u009b31mred\u009d0;title\u009cc", "abredc"},
	} {
		if got := Clean(c.in); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func FuzzClean(f *testing.F) {
	f.Add("a\r\x1b[31mb\x1b]0;x")
	f.Add("\b\ba\r\bb\u009b")
	f.Add("0\r0")
	f.Fuzz(func(t *testing.T, s string) {
		got := Clean(s)
		if !utf8.ValidString(got) || strings.ContainsAny(got, "\x1b\r\x00\b\u009b") || utf8.RuneCountInString(got) > len(s)+strings.Count(s, "\r") { // a return is a mark and the end of a line
			t.Errorf("Clean(%q) = %q", s, got)
		}
	})
}

func TestTheTotalQuotaTakesTheOldestEndedOutputs(t *testing.T) {
	dir := t.TempDir()
	s := newSpool(&SpoolOptions{Dir: dir, Task: 1 << 20, Total: 2 << 20})
	for i := range 5 {
		o := newOutput(fmt.Sprint(i), s, false)
		o.Write(make([]byte, 900<<10))
		o.Close()
	}
	var total int64
	var names []string
	files, _ := filepath.Glob(dir + "/*")
	for _, file := range files {
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		total += info.Size()
		names = append(names, filepath.Base(file))
	}
	if diff := cmp.Diff([]string{"3.output", "4.output"}, names); diff != "" || total > 2<<20 {
		t.Errorf("%d bytes in other files than the newest: %s", total, diff)
	}
}

func TestFilesPastTheirTimeAreSweptAndTheRestCounted(t *testing.T) {
	dir := t.TempDir()
	old, recent := filepath.Join(dir, "old.output"), filepath.Join(dir, "recent.output")
	for _, name := range []string{old, recent} {
		if err := os.WriteFile(name, make([]byte, 1000), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chtimes(old, time.Time{}, time.Now().Add(-time.Hour)); err != nil {
		t.Fatal(err)
	}
	s := newSpool(&SpoolOptions{Dir: dir, Keep: time.Minute})
	newOutput("new", s, true)
	if _, err := os.Stat(old); err == nil || s.used != 1000 {
		t.Errorf("old file there: %v, %d bytes counted", err == nil, s.used)
	}
}

// Two hosts share a directory that earlier runs have filled.
func TestFilesOfEarlierRunsMakeRoomUnlessTheyAreInUse(t *testing.T) {
	dir := t.TempDir()
	opts := &SpoolOptions{Dir: dir, Total: 3 << 20}
	other := newOutput("other", newSpool(opts), true)
	defer other.Close() // and until then it is in use
	other.Write(make([]byte, 900<<10))
	for i, name := range []string{"newer", "older"} {
		path := filepath.Join(dir, name+spoolSuffix)
		if err := os.WriteFile(path, make([]byte, 900<<10), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, time.Time{}, time.Now().Add(-time.Duration(i+1)*time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chtimes(other.Path(), time.Time{}, time.Now().Add(-9*time.Hour)); err != nil {
		t.Fatal(err)
	}
	o := newOutput("mine", newSpool(opts), true)
	o.Write(make([]byte, 900<<10))
	files, _ := filepath.Glob(dir + "/*")
	for i := range files {
		files[i] = filepath.Base(files[i])
	}
	if diff := cmp.Diff([]string{"mine.output", "newer.output", "other.output"}, files); diff != "" || o.kept != 900<<10 {
		t.Errorf("%d bytes kept, files: %s", o.kept, diff)
	}
}

// A full disk costs the middle of the output, and the excerpt says so.
func TestAFullDiskIsTold(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("no /dev/full here")
	}
	o := newOutput("t", newSpool(&SpoolOptions{Dir: t.TempDir()}), true)
	full, err := os.OpenFile("/dev/full", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	o.file.file.Close()
	o.file.file = full
	for range 100 {
		o.Write(bytes.Repeat([]byte("line\n"), 2000))
	}
	o.Write([]byte("the end\n"))
	o.Close()
	e := o.Excerpt(30000, false)
	if !strings.Contains(e.Text, "no space left on device") || !strings.HasSuffix(e.Text, "the end\n") || e.Total.Bytes != 1000008 {
		t.Errorf("excerpt %.500q", e.Text)
	}
}

func TestReadNewHoldsBackHalfAnEscape(t *testing.T) {
	task := &Task{output: newOutput("t", newSpool(nil), false), done: make(chan struct{})}
	task.output.Write([]byte("a\x1b[3"))
	if data, _ := task.ReadNew(100); string(data) != "a" {
		t.Errorf("read %q", data)
	}
	task.output.Write([]byte("1mred"))
	if data, _ := task.ReadNew(100); string(data) != "\x1b[31mred" {
		t.Errorf("read %q", data)
	}
	task.output.Write([]byte("\x1b["))
	close(task.done)
	if data, _ := task.ReadNew(100); string(data) != "\x1b[" {
		t.Errorf("read %q at the end", data)
	}
}

// A cut through an escape would leave the rest of it as text.
func TestAnExcerptDoesNotCutEscapes(t *testing.T) {
	o := newOutput("t", newSpool(&SpoolOptions{Dir: t.TempDir()}), false)
	o.Write(bytes.Repeat([]byte("\x1b[38;5;196mx"), 20000)) // one line
	for limit := 3000; limit < 3012; limit++ {
		_, text, _ := strings.Cut(o.Excerpt(limit, false).Text, "]\n")
		if rest := strings.Trim(strings.Replace(text, "\n\n[…]\n\n", "", 1), "x"); rest != "" {
			t.Errorf("within %d characters: %q is left of an escape", limit, rest)
		}
	}
}

func TestALongPathInTheNoteCostsNoLastLine(t *testing.T) {
	dir := t.TempDir()
	for range 8 {
		dir = filepath.Join(dir, strings.Repeat("long", 50))
	}
	o := newOutput("t", newSpool(&SpoolOptions{Dir: dir}), false)
	o.Write(bytes.Repeat([]byte("line\n"), 10000))
	o.Write([]byte("the end"))
	e := o.Excerpt(4000, false)
	if !strings.HasSuffix(e.Text, "the end") || !strings.Contains(e.Text, e.Path) || utf8.RuneCountInString(e.Text) > 4000 {
		t.Errorf("%d characters: %.200q … %q", utf8.RuneCountInString(e.Text), e.Text, e.Text[len(e.Text)-50:])
	}
}
