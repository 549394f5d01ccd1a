package page_test

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
)

// A full disk is shown: a prompt that could not be saved gets a warning, which stays, and no
// state that says that all is well. Once there is room, the session continues.
func TestAFullDiskIsShown(t *testing.T) {
	s := newSite(t, scenes)
	p := s.login(1280, 900)
	id := s.create(p, "hello")
	p.wait(`document.querySelector("header .chip").textContent === "done"`)
	info, err := s.store.Info(id)
	if err != nil {
		t.Fatal(err)
	}
	free := fill(t, info.Path)
	p.eval(`document.querySelector("footer textarea").focus()`, nil)
	p.write("is there room?")
	p.press("Enter")
	p.wait(`[...document.querySelectorAll(".asks > .warning[role=alert]")].some((e) => e.textContent.includes("no space left on device"))`)
	p.wait(`document.querySelector("header .chip").textContent === "failed"`)
	free()
	p.eval(`document.querySelector("footer textarea").focus()`, nil)
	p.write("and now?")
	p.press("Enter")
	p.wait(`[...document.querySelectorAll(".i-prompt")].some((e) => e.textContent.includes("and now?"))`)
	p.wait(`document.querySelector("header .chip").textContent === "done"`)
	p.clean()
}

// fill has what this process writes to a file fail as on a full disk, until free is called.
func fill(t *testing.T, path string) (free func()) {
	t.Helper()
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	if path, err = filepath.EvalSymlinks(path); err != nil {
		t.Fatal(err)
	}
	fd := descriptorOf(t, path)
	kept, err := syscall.Dup(fd)
	if err == nil {
		err = syscall.Dup3(int(full.Fd()), fd, syscall.O_CLOEXEC)
	}
	if err != nil {
		t.Fatal(err)
	}
	return func() {
		t.Helper()
		if err := errors.Join(syscall.Dup3(kept, fd, syscall.O_CLOEXEC), syscall.Close(kept)); err != nil {
			t.Fatal(err)
		}
	}
}

// descriptorOf is the descriptor that writes to a file. Those that read it come and go.
func descriptorOf(t *testing.T, path string) int {
	t.Helper()
	links, err := filepath.Glob("/proc/self/fd/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, link := range links {
		if to, err := os.Readlink(link); err != nil || to != path {
			continue
		}
		fd, err := strconv.Atoi(filepath.Base(link))
		if err != nil {
			t.Fatal(err)
		}
		flags, _, errno := syscall.Syscall(syscall.SYS_FCNTL, uintptr(fd), syscall.F_GETFL, 0)
		if errno == 0 && flags&syscall.O_ACCMODE == syscall.O_WRONLY {
			return fd
		}
	}
	t.Fatalf("nothing writes to %s", path)
	return -1
}
