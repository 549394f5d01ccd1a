package shellrun

import (
	"errors"
	"io/fs"
	"os"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/haftdev/haft/internal/test/needtest"
)

func TestAThousandRunsLeaveNothing(t *testing.T) {
	h := newTestHost(t, nil)
	s := h.NewShell("/")
	run(t, s, "true")
	keeper := keeperOf(t, h)
	goroutines, files, keeperFiles := runtime.NumGoroutine(), openFiles(t, "self"), openFiles(t, keeper)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 250 / needtest.Every(5) {
				if _, err := s.Run(t.Context(), Request{Command: ":", Timeout: time.Minute, OnProgress: func(Progress) {}}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	runtime.GC()
	settles(t, "goroutines", goroutines, runtime.NumGoroutine)
	settles(t, "descriptors", files, func() int { return openFiles(t, "self") })
	settles(t, "descriptors of the keeper", keeperFiles, func() int { return openFiles(t, keeper) })
	if tasks := h.Tasks(); len(tasks) != 0 {
		t.Errorf("%d tasks left", len(tasks))
	}
	if left := tree(t, h.ready.shell.scratch); len(left) != 1 { // an empty folder
		t.Errorf("files left: %v", left)
	}
}

// settles waits until a count that other goroutines bring down is at most what
// it was.
func settles(t *testing.T, what string, want int, count func() int) {
	t.Helper()
	for range 200 {
		if count() <= want {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("%d %s, %d before", count(), what, want)
}

func openFiles(t *testing.T, pid string) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/" + pid + "/fd")
	if errors.Is(err, fs.ErrPermission) {
		return 0 // the keeper shows its descriptors to root only
	}
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}
