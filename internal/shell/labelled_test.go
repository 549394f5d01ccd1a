package shell

import (
	"os"
	"strings"
	"testing"
)

func TestCommandsLabelledByHand(t *testing.T) {
	data, err := os.ReadFile("testdata/labelled.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(string(data), "\n") {
		label, command, ok := strings.Cut(line, " ")
		if !ok || label == "#" {
			continue
		}
		for name, opts := range settings {
			if a := Analyze(command, opts); a.ReadOnly != (label == "+") {
				t.Errorf("%s: %s: read-only %v (%s)", name, command, a.ReadOnly, a.Reason)
			}
		}
	}
}
