package shellrun

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// A proc is what /proc tells about one process.
type proc struct {
	pid, ppid, sid int
	state          byte
	start          uint64 // clock ticks since boot: with pid, the identity of a process
	name           string
}

func (p proc) zombie() bool { return p.state == 'Z' || p.state == 'X' }

// readProc reads one process. A process that is gone is not an error to anyone
// here.
func readProc(pid int) (proc, bool) {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return proc{}, false
	}
	return parseStat(pid, data)
}

// parseStat reads "pid (name) state ppid pgrp sid … starttime …". The name may
// itself hold spaces and parentheses.
func parseStat(pid int, data []byte) (proc, bool) {
	open, end := bytes.IndexByte(data, '('), bytes.LastIndexByte(data, ')')
	if open < 0 || end < open {
		return proc{}, false
	}
	fields := strings.Fields(string(data[end+1:]))
	if len(fields) < 20 {
		return proc{}, false
	}
	p := proc{pid: pid, state: fields[0][0], name: string(data[open+1 : end])}
	p.ppid, _ = strconv.Atoi(fields[1])
	p.sid, _ = strconv.Atoi(fields[3])
	p.start, _ = strconv.ParseUint(fields[19], 10, 64)
	return p, true
}

// allProcs lists every process that can be seen, in the order of their pids.
func allProcs() []proc {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	var all []proc
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		if p, ok := readProc(pid); ok {
			all = append(all, p)
		}
	}
	return all
}

// childrenOf lists the direct children of this process, which as a subreaper
// adopts the orphans of all its descendants.
func childrenOf(self int) []int {
	lists, _ := filepath.Glob("/proc/self/task/*/children")
	if len(lists) == 0 { // a kernel without CONFIG_PROC_CHILDREN
		return childrenByScan(self)
	}
	var pids []int
	for _, list := range lists {
		data, err := os.ReadFile(list)
		if err != nil {
			continue
		}
		for _, field := range bytes.Fields(data) {
			if pid, err := strconv.Atoi(string(field)); err == nil {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}

func childrenByScan(self int) []int {
	var pids []int
	for _, p := range allProcs() {
		if p.ppid == self {
			pids = append(pids, p.pid)
		}
	}
	return pids
}

// signal sends sig to p and to no other process that may have got its pid
// since.
func (p proc) signal(sig unix.Signal) error {
	fd, err := unix.PidfdOpen(p.pid, 0)
	if err == unix.ENOSYS {
		return unix.Kill(p.pid, sig)
	}
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if now, ok := readProc(p.pid); !ok || now.start != p.start {
		return unix.ESRCH
	}
	return unix.PidfdSendSignal(fd, sig, nil, 0)
}
