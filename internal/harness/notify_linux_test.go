package harness_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/internal/guard/permission"
	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/internal/world/shellrun"
	"github.com/haftdev/haft/sched"
)

// TestTheUserIsNotified by the front end and by the desktop, which gets a text and no
// options or markup.
func TestTheUserIsNotified(t *testing.T) {
	r := newRig(t)
	r = r.with(uses("ToolSearch", `{"query":"select:PushNotification"}`), uses("PushNotification", `{"message":"--icon=x <b>done</b>"}`), says("told"))
	bin := t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, "notify-send"), []byte("#!/bin/sh\nprintf '%s\\n' \"$@\" > "+filepath.Join(bin, "shown")+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nowhere")
	c := r.talk(harness.Options{Reexec: shellrun.Supervise()}, harness.TalkOptions{Interactive: true})
	defer c.Close(t.Context())
	events, last := r.say(c, "begin")
	if last.Text != "told" {
		t.Fatalf("%+v", last)
	}
	seen := false
	for _, ev := range events {
		n, ok := ev.(agent.Notice)
		seen = seen || ok && n.Tag == agent.Push && n.Text == "--icon=x <b>done</b>"
	}
	if !seen {
		t.Error("the front end was not told")
	}
	shown, err := os.ReadFile(filepath.Join(bin, "shown"))
	if err != nil || string(shown) != "--app-name=haft\n--\nhaft\n--icon=x &lt;b&gt;done&lt;/b&gt;\n" {
		t.Errorf("the desktop got %q, %v", shown, err)
	}
	if body := string(r.server.Requests()[2].Body); !strings.Contains(body, "Sent to the user's terminal and desktop.") {
		t.Error("the model is not told in which ways")
	}
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", "")
	if out := callIn(t, c, permission.Default, "PushNotification", `{"message":"x"}`); out.Status != sched.Succeeded || strings.Contains(out.Result.Text(), "desktop") {
		t.Errorf("without a desktop: %s", out.Result.Text())
	}
}
