package shellrun

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// TestFloodsAreHeldFlat pours more output than memory or disk should take.
// SHELLRUN_FLOOD_MB sets how much, 100 MB by default.
func TestFloodsAreHeldFlat(t *testing.T) {
	mb, _ := strconv.Atoi(os.Getenv("SHELLRUN_FLOOD_MB"))
	if mb == 0 {
		mb = 100
	}
	const quota = 8 << 20
	for _, flood := range []struct{ name, command string }{
		{"short lines", fmt.Sprintf("yes | head -c %dM; echo the last line >&2", mb)},
		{"one long line", fmt.Sprintf("head -c %dM /dev/zero | tr '\\0' x; echo; echo the last line >&2", mb)},
		{"a progress bar", fmt.Sprintf("yes $'\\r10%%' | tr -d '\\n' | head -c %dM; echo; echo the last line >&2", mb)},
		{"no UTF-8", fmt.Sprintf("yes $'\\xff\\xe2\\x82' | head -c %dM; echo; echo the last line >&2", mb)},
	} {
		t.Run(flood.name, func(t *testing.T) {
			dir := t.TempDir()
			h := newTestHost(t, func(o *Options) { o.Spool = &SpoolOptions{Dir: dir, Task: quota} })
			s := h.NewShell("/")
			run(t, s, "true")
			processes := []string{"self", keeperOf(t, h)}
			before := peakRSS(t, true, processes...)
			task, err := s.Run(t.Context(), Request{Command: flood.command, Timeout: 5 * time.Minute})
			if err != nil {
				t.Fatal(err)
			}
			if grown := peakRSS(t, false, processes...) - before; grown > 32<<20 {
				t.Errorf("peak memory grew by %d MB", grown>>20)
			}
			if total := task.Output().Counts().Bytes; total < int64(mb)<<20 {
				t.Errorf("%d bytes counted", total)
			}
			e := task.Output().Excerpt(30000, false)
			if n := utf8.RuneCountInString(e.Text); n > 30000 {
				t.Errorf("excerpt of %d characters", n)
			}
			if !strings.HasPrefix(e.Text, "[Output truncated: ") || !strings.HasSuffix(e.Text, "the last line\n") {
				t.Errorf("excerpt begins %.80q and ends %q", e.Text, e.Text[len(e.Text)-80:])
			}
			data, err := os.ReadFile(e.Path)
			if err != nil || len(data) > quota || len(data) < quota/2 || !bytes.HasSuffix(data, []byte("the last line\n")) {
				t.Errorf("file of %d bytes, quota %d, error %v, does not end with the last line", len(data), quota, err)
			}
			if files, _ := filepath.Glob(dir + "/*"); len(files) != 1 {
				t.Errorf("files left: %v", files)
			}
		})
	}
}

func TestAnEndlessFloodEndsAtItsTimeout(t *testing.T) {
	s := newTestHost(t, func(o *Options) { o.Spool = &SpoolOptions{Task: 1 << 20} }).NewShell("/")
	start := time.Now()
	task, err := s.Run(t.Context(), Request{Command: "yes", Timeout: 300 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	if r := task.Result(); r.State != TimedOut || time.Since(start) > 30*time.Second {
		t.Errorf("state %q after %v", r.State, time.Since(start))
	}
}

// peakRSS returns the most memory that processes had resident since it was last
// reset. The keeper shows its own to root only.
func peakRSS(t *testing.T, reset bool, pids ...string) (sum int64) {
	t.Helper()
	for _, pid := range pids {
		if reset {
			if err := os.WriteFile("/proc/"+pid+"/clear_refs", []byte("5"), 0); err != nil {
				t.Logf("what was used before hides what follows: %v", err)
			}
		}
		data, err := os.ReadFile("/proc/" + pid + "/status")
		if err != nil {
			t.Fatal(err)
		}
		_, rest, _ := strings.Cut(string(data), "VmHWM:")
		kb, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		sum += kb << 10
	}
	return sum
}
