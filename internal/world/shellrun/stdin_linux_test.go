package shellrun

import (
	"io"
	"os"
	"testing"
	"time"
)

func TestARunnerKeepsTheThreeStandardFilesApart(t *testing.T) {
	runner := newTestHost(t, nil).Runner()
	var read, write [3]*os.File
	for i := range read {
		var err error
		if read[i], write[i], err = os.Pipe(); err != nil {
			t.Fatal(err)
		}
		defer read[i].Close()
	}
	p, err := runner.Start(Command{
		Path: "/bin/sh", Args: []string{"sh", "-c", "cat; echo problem >&2"}, Dir: "/",
		Input: read[0], Output: write[1], Errors: write[2],
	})
	if err != nil {
		t.Fatal(err)
	}
	write[1].Close()
	write[2].Close()
	io.WriteString(write[0], "said")
	write[0].Close()
	out, _ := io.ReadAll(read[1])
	errs, _ := io.ReadAll(read[2])
	if string(out) != "said" || string(errs) != "problem\n" {
		t.Errorf("output %q, errors %q", out, errs)
	}
	select {
	case <-p.Done():
	case <-time.After(10 * time.Second):
		t.Fatal("the command did not end")
	}
}
