package needtest

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

func TestATestThatLacksSomethingSaysWhat(t *testing.T) {
	for _, ci := range []string{"", "true"} {
		t.Setenv("CI", ci)
		r := &recorder{TB: t}
		r.run(func() { Need(r, "go", "no-such-program", "another") })
		if want := "no-such-program is not installed"; r.said != want || r.skipped == (ci != "") || r.failed == (ci == "") {
			t.Errorf("with CI=%s: %+v, want %q", ci, r, want)
		}
	}
}

func TestEveryThingIsTried(t *testing.T) {
	for _, thing := range []Thing{Namespaces, Overlay, Landlock, Cgroups, Resolver, Tracing, Checkout, Root, Mounts} {
		if _, ok := probes[thing]; !ok {
			t.Errorf("%s is taken for a program", thing)
		}
		first, second := Lacks(thing), Lacks(thing)
		if (first == nil) != (second == nil) {
			t.Errorf("%s: %v, then %v", thing, first, second)
		}
		if first != nil && (strings.Contains(first.Error(), "\n") || strings.Contains(first.Error(), os.TempDir())) {
			t.Errorf("%s: the reason is no line that can be listed: %q", thing, first)
		}
	}
	if (Lacks(Root) == nil) != (os.Geteuid() == 0) {
		t.Error("root is told wrongly")
	}
}

// A recorder is a test that notes how it is ended.
type recorder struct {
	testing.TB
	said            string
	skipped, failed bool
}

func (r *recorder) run(test func()) {
	done := make(chan struct{})
	go func() {
		defer func() { _ = recover(); close(done) }()
		test()
	}()
	<-done
}

func (r *recorder) Helper() {}

func (r *recorder) Skipf(format string, args ...any) {
	r.said, r.skipped = fmt.Sprintf(format, args...), true
	panic("skipped")
}

func (r *recorder) Fatalf(format string, args ...any) {
	r.said, r.failed = fmt.Sprintf(format, args...), true
	panic("failed")
}
