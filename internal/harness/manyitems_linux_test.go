package harness_test

import (
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/haftdev/haft/internal/guard/trust"
	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/model/script"
)

// TestAStartReadsTheTrustStoreOnce counts how often a start with 2,100 trusted items opens the
// file that says what is trusted.
func TestAStartReadsTheTrustStoreOnce(t *testing.T) {
	r := newRig(t, script.Turn{Blocks: []script.Block{{Text: "hello"}}})
	r.trustItems(700)
	path, err := trust.DefaultPath()
	if err != nil {
		t.Fatal(err)
	}
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	// Events that are alike and follow each other are reported once, so that it takes both.
	if _, err := unix.InotifyAddWatch(fd, path, unix.IN_OPEN|unix.IN_CLOSE); err != nil {
		t.Fatal(err)
	}
	c := r.talk(harness.Options{}, harness.TalkOptions{})
	r.say(c, "hi")
	if err := c.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	events := make([]byte, 1<<20)
	n, err := unix.Read(fd, events)
	if err != nil {
		t.Fatal("the start has not opened the file: ", err)
	}
	opened := 0
	for at := 0; at < n; {
		e := (*unix.InotifyEvent)(unsafe.Pointer(&events[at]))
		if e.Mask&unix.IN_OPEN != 0 {
			opened++
		}
		at += unix.SizeofInotifyEvent + int(e.Len)
	}
	if opened != 1 {
		t.Errorf("the start opened the file %d times, want once", opened)
	}
}
