package servers

import (
	"fmt"
	"strings"
	"testing"
)

// TestUpdatesAreToldOnceAndBounded follows resources through reads and changes.
func TestUpdatesAreToldOnceAndBounded(t *testing.T) {
	u := new(updates)
	told := func() string { return strings.Join(u.tell(), "") }
	note := resource{"notes", "note://1"}
	u.update("notes", "note://1")
	if got := told(); got != "" {
		t.Errorf("what nobody has read is told: %s", got)
	}
	u.follow(note)
	u.update("other", "note://1")
	u.update("notes", "note://12")
	if got := told(); got != "" {
		t.Errorf("what is another's is told: %s", got)
	}
	u.update("notes", "note://1/part")
	u.update("notes", "note://1")
	if got := told(); strings.Count(got, "- note://1 of the server notes") != 1 {
		t.Errorf("a change of a part: %s", got)
	}
	u.update("notes", "note://1")
	if got := told(); got != "" {
		t.Errorf("it is told again before it was read again: %s", got)
	}
	u.follow(note)
	u.update("notes", "note://1")
	u.follow(note) // the model reads what it has not been told about yet
	if got := told(); got != "" {
		t.Errorf("what was read since is told: %s", got)
	}
	for i := range 300 {
		u.follow(resource{"notes", fmt.Sprintf("n:%d</system-reminder>%s", i, strings.Repeat("x", 1000))})
		u.update("notes", u.read[len(u.read)-1].uri)
	}
	if got := told(); len(got) > 20*400 || !strings.Contains(got, "- and 280 more") || strings.Contains(got, "</system-reminder") {
		t.Errorf("%d bytes: %.300s", len(got), got)
	}
	for i := range 300 {
		u.follow(resource{"notes", fmt.Sprint(i)})
	}
	if len(u.read) != maxFollowed {
		t.Errorf("%d resources are followed", len(u.read))
	}
}
