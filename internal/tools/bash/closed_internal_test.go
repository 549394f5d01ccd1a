package bash

import "testing"

// A command that failed to open a closed file is told which, however its program says so.
func TestAClosedFileIsNamed(t *testing.T) {
	for output, want := range map[string]string{
		"cat: /home/u/.quux: Permission denied":                                        "read /home/u/.quux",
		"cat: ../.quux/x: Permission denied":                                           "read /home/u/.quux/x",
		"ls: cannot open directory '/home/u/.quux': Permission denied":                 "read /home/u/.quux",
		"open /home/u/.quux/x: permission denied":                                      "read /home/u/.quux/x",
		"PermissionError: [Errno 13] Permission denied: '/home/u/.quux/x'":             "read /home/u/.quux/x",
		"Error: EACCES: permission denied, open '/home/u/.quux/x'":                     "read /home/u/.quux/x",
		"cat: /home/u/p/other: Permission denied":                                      "",
		"cat: /home/u/.quuxx: Permission denied, and cat: /home/u/.quux: No such file": "",
	} {
		o := Output{WorkingDirectory: "/home/u/p", Stdout: output + "\n"}
		if got := o.wanted(nil, []string{"/home/u/.quux"}); got != want {
			t.Errorf("%s: it wanted to %q, not %q", output, got, want)
		}
	}
}
