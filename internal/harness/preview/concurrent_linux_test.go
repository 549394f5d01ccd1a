package preview_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/haftdev/haft/internal/harness/preview"
)

// TestEditsOfOthersAreNeverLost lets another program edit files that a command
// changes too: before it runs, while it runs, while its change waits and while it
// is applied. Many cases:
//
//	HAFT_PREVIEW_EDITS=1000 go test ./internal/harness/preview -run EditsOfOthers
func TestEditsOfOthersAreNeverLost(t *testing.T) {
	b := newBench(t, nil)
	counts := map[string]int{}
	for i := range rounds(t, "HAFT_PREVIEW_EDITS", 40) {
		counts[editOnce(b, i)]++
	}
	t.Logf("outcomes: %v", counts)
	if n := rounds(t, "HAFT_PREVIEW_EDITS", 40); n >= 40 && counts["both"] == 0 {
		t.Error("nothing was ever merged")
	}
}

func editOnce(b *bench, i int) string {
	b.Helper()
	const files, lines = 4, 12
	for f := range files {
		var text strings.Builder
		for l := range lines {
			fmt.Fprintf(&text, "file %d line %d round %d\n", f, l, i)
		}
		b.write(fmt.Sprintf("f%d", f), text.String())
	}
	settle()
	var commands []string
	for f := range files {
		name := fmt.Sprintf("f%d", f)
		switch rand.IntN(6) {
		case 0:
			commands = append(commands, "rm "+name)
		case 1:
			commands = append(commands, "chmod 600 "+name)
		case 2:
			commands = append(commands, "echo ours >> "+name)
		default:
			commands = append(commands, fmt.Sprintf("sed -i '%ds/.*/ours/' %s", 1+rand.IntN(lines), name))
		}
	}
	token := fmt.Sprintf("theirs-%d-%d", i, rand.Uint32())
	edited := filepath.Join(b.project, fmt.Sprintf("f%d", rand.IntN(files)))
	edit := func() { theirEdit(b, edited, token, rand.IntN(lines), rand.IntN(2) == 0) }
	when, done := rand.IntN(3), make(chan struct{})
	if when == 0 {
		go func() { defer close(done); awaitStart(b); edit() }()
	}
	r, err := b.run("echo > started; " + strings.Join(commands, "; "))
	if when == 0 {
		<-done
	}
	if err != nil && r != nil {
		r.Drop()
	}
	if err == nil {
		if when == 1 {
			edit()
		}
		if when == 2 {
			go func() { defer close(done); edit() }()
		}
		err = r.Apply(b.Context(), b.session, fmt.Sprintf("call-%d", i))
		if when == 2 {
			<-done
		}
		if err := r.Drop(); err != nil {
			b.Error(err)
		}
	}
	var conflict *preview.ConflictError
	if err != nil && !errors.As(err, &conflict) {
		b.Fatalf("round %d: %v", i, err)
	}
	now, _ := os.ReadFile(edited)
	if !strings.Contains(string(now), token) {
		b.Fatalf("round %d: the edit is lost (when %d, error %v, commands %q): %q", i, when, err, commands, now)
	}
	if err != nil {
		return "reported"
	}
	return "both"
}

// awaitStart waits until the command has written something: an edit before that may
// be deleted by it as by any command.
func awaitStart(b *bench) {
	for {
		if started, _ := filepath.Glob(filepath.Join(b.store, "*", "0", "upper", "started")); len(started) > 0 {
			return
		}
		time.Sleep(100 * time.Microsecond)
	}
}

// theirEdit changes a line, as editors do: in place, or by another file. A file
// that is gone is made.
func theirEdit(b *bench, path, token string, line int, inPlace bool) {
	raw, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		b.Error(err)
		return
	}
	lines := strings.SplitAfter(string(raw), "\n")
	line = min(line, len(lines)-1)
	lines[line] = token + "\n"
	text := []byte(strings.Join(lines, ""))
	if inPlace {
		err = os.WriteFile(path, text, 0o644)
	} else {
		temp := path + ".theirs"
		err = errors.Join(os.WriteFile(temp, text, 0o644), os.Rename(temp, path))
	}
	if err != nil {
		b.Error(err)
	}
}
