package harness

import (
	"context"
	"html"
	"os"
	"time"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/hook"
	"github.com/haftdev/haft/internal/world/shellrun"
)

// notifier tells the user something: through the front end, the hooks, and the desktop if
// there is one.
func (w *World) notifier(interactive bool) func(context.Context, string) []string {
	return func(ctx context.Context, text string) (ways []string) {
		w.link.Emit(agent.Notice{Level: "notice", Tag: agent.Push, Text: text})
		ways = []string{"program"}
		if interactive {
			ways = []string{"terminal"}
		}
		w.Hooks.Fire(ctx, "", hook.Notification{Message: text, Type: "push"})
		if w.notifyDesktop(ctx, text) {
			ways = append(ways, "desktop")
		}
		return ways
	}
}

// desktopPatience is how long notify-send may take.
const desktopPatience = 2 * time.Second

// notifyDesktop shows a text on the desktop with notify-send, and reports whether that
// worked.
func (w *World) notifyDesktop(ctx context.Context, text string) bool {
	var env []string
	for _, name := range []string{"DBUS_SESSION_BUS_ADDRESS", "DISPLAY", "WAYLAND_DISPLAY", "XDG_RUNTIME_DIR"} {
		if value := os.Getenv(name); value != "" {
			env = append(env, name+"="+value)
		}
	}
	if os.Getenv("DBUS_SESSION_BUS_ADDRESS") == "" { // there is no desktop
		return false
	}
	path, err := w.host.Find(ctx, "notify-send")
	if err != nil {
		return false
	}
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		return false
	}
	defer null.Close()
	p, err := w.host.Start(ctx, shellrun.Command{
		Path: path, Args: []string{"notify-send", "--app-name=haft", "--", "haft", html.EscapeString(text)}, Env: env, Dir: "/", Output: null,
	})
	if err != nil {
		return false
	}
	select {
	case <-p.Done():
		return p.Status().Code == 0
	case <-time.After(desktopPatience):
	case <-ctx.Done():
	}
	p.End(0)
	return false
}
