package shellrun

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// cgroups makes one cgroup (version 2) per command where the kernel, the mount
// and our rights allow it. The zero value makes none. A cgroup is killed in one
// step, so that not even a chain of processes that fork faster than /proc can
// be read escapes it.
type cgroups struct {
	dir  string   // our own group, parent of the commands' groups
	lock *os.File // dir, locked as long as we live
}

const cgroupPrefix = "haft-"

// openCgroups makes the parent group, below the cgroup that this process is in.
// It is named by the process, as others know it.
func openCgroups(pid int) cgroups {
	base, ok := ownCgroup()
	if !ok {
		return cgroups{}
	}
	sweepCgroups(base)
	c := cgroups{dir: keeperGroup(base, pid)}
	if os.Mkdir(c.dir, 0o755) != nil {
		return cgroups{}
	}
	c.lock, ok = lockGroup(c.dir)
	if _, err := os.Stat(filepath.Join(c.dir, "cgroup.kill")); err != nil || !ok { // before Linux 5.14
		c.close()
		return cgroups{}
	}
	return c
}

// lockGroup takes the lock by which a keeper shows that it lives.
func lockGroup(dir string) (*os.File, bool) {
	file, err := os.Open(dir)
	if err != nil {
		return nil, false
	}
	if !lock(file) {
		file.Close()
		return nil, false
	}
	return file, true
}

// ownCgroup finds the directory of this process's group in the version 2
// hierarchy, alone or beside version 1.
func ownCgroup() (string, bool) {
	data, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return "", false
	}
	for line := range strings.Lines(string(data)) {
		path, ok := strings.CutPrefix(strings.TrimSpace(line), "0::")
		if !ok {
			continue
		}
		for _, mount := range []string{"/sys/fs/cgroup", "/sys/fs/cgroup/unified"} {
			dir := filepath.Join(mount, path)
			if _, err := os.Stat(filepath.Join(dir, "cgroup.procs")); err == nil {
				if _, err := os.Stat(filepath.Join(mount, "cgroup.controllers")); err == nil {
					return dir, true
				}
			}
		}
	}
	return "", false
}

// sweepCgroups ends and removes what keepers left that were killed together
// with their harness.
func sweepCgroups(base string) {
	groups, _ := filepath.Glob(filepath.Join(base, cgroupPrefix+"*"))
	for _, group := range groups {
		sweepCgroup(group)
	}
}

// endCgroup ends what a keeper left that was killed, with or without a tag. The keeper is dead but not reaped, so that
// no other has its pid. Its lock is not asked for: a child that it could not start may still hold that.
func endCgroup(keeper int) {
	if base, ok := ownCgroup(); ok {
		clearCgroup(keeperGroup(base, keeper))
	}
}

func keeperGroup(base string, keeper int) string {
	return filepath.Join(base, cgroupPrefix+strconv.Itoa(keeper))
}

// sweepCgroup ends and removes the group of a keeper, unless that lives.
func sweepCgroup(group string) {
	lock, ok := lockGroup(group)
	if !ok {
		return
	}
	defer lock.Close()
	clearCgroup(group)
}

// clearCgroup ends what is in a group and removes it.
func clearCgroup(group string) {
	killCgroup(group)
	for range 100 { // the dead leave in their own time
		if removeCgroup(group) {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

func killCgroup(group string) {
	_ = os.WriteFile(filepath.Join(group, "cgroup.kill"), []byte("1"), 0)
}

// removeCgroup removes a group, with the groups that commands have made in it. It reports whether it is gone.
func removeCgroup(group string) bool {
	err := unix.Rmdir(group)
	if err == unix.EBUSY {
		entries, _ := os.ReadDir(group)
		for _, e := range entries {
			if e.IsDir() {
				removeCgroup(filepath.Join(group, e.Name()))
			}
		}
		err = unix.Rmdir(group)
	}
	return err == nil || err == unix.ENOENT
}

// add makes the group of one command; nil when there is to be none.
func (c cgroups) add(id uint32) *cgroup {
	if c.dir == "" {
		return nil
	}
	path := filepath.Join(c.dir, strconv.FormatUint(uint64(id), 10))
	if os.Mkdir(path, 0o755) != nil {
		return nil
	}
	g := &cgroup{path: path, dir: -1, events: -1}
	var err error
	if g.dir, err = unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0); err == nil {
		g.events, err = unix.Open(filepath.Join(path, "cgroup.events"), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	}
	if err != nil {
		g.remove()
		return nil
	}
	return g
}

func (c cgroups) close() {
	if c.dir != "" {
		removeCgroup(c.dir)
		c.lock.Close()
	}
}

// A cgroup holds the processes of one command. Its methods accept nil, which
// holds none.
type cgroup struct {
	path        string
	dir, events int // descriptors of it and of the file that says whether anything is in it
}

func (g *cgroup) fd() int { return g.dir }

// populated reports whether anything is in the group, or may be. One that was removed is empty: the kernel removes no other.
func (g *cgroup) populated() bool {
	if g == nil {
		return false
	}
	var data [128]byte
	n, err := unix.Pread(g.events, data[:], 0)
	if err == unix.ENODEV {
		return false
	}
	return err != nil || !bytes.Contains(data[:n], []byte("populated 0"))
}

func (g *cgroup) kill() {
	if g != nil {
		killCgroup(g.path)
	}
}

func (g *cgroup) remove() {
	if g != nil {
		_ = unix.Close(g.dir)
		_ = unix.Close(g.events)
		removeCgroup(g.path)
	}
}
