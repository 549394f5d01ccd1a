package tui

import (
	"context"
	"encoding/base64"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/haftdev/haft/agent"
)

func TestAnswersAndConversationsAreCopied(t *testing.T) {
	in(t, func(t *testing.T, b *bed) {
		b.type_("/copy\r")
		b.sees("there is no answer to copy yet")
		b.tell(agent.TurnStarted{}, prompted("say it"), delta(0, "A **word**.\n"), stop(0), agent.Result{})
		var out strings.Builder
		b.app.later(func() { b.app.opts.Out = &out })
		b.type_("/copy\r")
		b.type_("/export clipboard\r")
		if d := cmp.Diff([]string{"A **word**.", "## user\n\nall of it"}, b.talk.copied); d != "" {
			t.Error(d)
		}
		for _, text := range b.talk.copied {
			if !strings.Contains(out.String(), "\x1b]52;c;"+base64.StdEncoding.EncodeToString([]byte(text))+"\a") {
				t.Errorf("%q did not go to the terminal: %q", text, out.String())
			}
		}
		b.type_("/export notes.html\r")
		b.ran("export notes.html")
	})
}

// TestAFileThatIsDraggedIsAttached pastes paths as terminals do when a file is dragged.
func TestAFileThatIsDraggedIsAttached(t *testing.T) {
	dir := t.TempDir()
	one, two := filepath.Join(dir, "one.png"), filepath.Join(dir, "my picture.JPG")
	for _, path := range []string{one, two} {
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		pasted string
		want   []string
	}{
		"plain":           {one, []string{one}},
		"in quotes":       {"'" + two + "' ", []string{two}},
		"escaped":         {strings.ReplaceAll(two, " ", `\ `), []string{two}},
		"with a blank":    {two, []string{two}},
		"an address":      {"file://" + strings.ReplaceAll(two, " ", "%20"), []string{two}},
		"several":         {one + " '" + two + "'\n", []string{one, two}},
		"not there":       {filepath.Join(dir, "three.png"), nil},
		"in a sentence":   {"look at " + one, nil},
		"a relative path": {"one.png", nil},
	} {
		t.Run(name, func(t *testing.T) {
			in(t, func(t *testing.T, b *bed) {
				b.type_("\x1b[200~" + c.pasted + "\x1b[201~")
				if d := cmp.Diff(c.want, b.app.images); d != "" {
					t.Error(d)
				}
				if c.want == nil && b.app.write.Text() != c.pasted {
					t.Errorf("%q is written", b.app.write.Text())
				}
			})
		})
	}
}

// TestTheClipboardOfEachDesktop asks each desktop's program, and names the one that is missing.
func TestTheClipboardOfEachDesktop(t *testing.T) {
	png := "\x89PNG\r\n\x1a\npicture"
	for name, c := range map[string]struct{ system, variable, program, install, out string }{
		"wayland": {"linux", "WAYLAND_DISPLAY", "wl-paste", "wl-clipboard", png},
		"x11":     {"linux", "DISPLAY", "xclip", "xclip", png},
		"mac":     {"darwin", "", "osascript", "macOS", "«data PNGf" + fmt.Sprintf("%X", png) + "»\n"},
		"windows": {"windows", "", "powershell.exe", "PowerShell", base64.StdEncoding.EncodeToString([]byte(png)) + "\r\n"},
		"wsl":     {"linux", "WSL_DISTRO_NAME", "powershell.exe", "PowerShell", base64.StdEncoding.EncodeToString([]byte(png))},
	} {
		t.Run(name, func(t *testing.T) {
			out, fails, copied := c.out, error(nil), ""
			d := Desktop{OS: c.system, Getenv: func(name string) string {
				if name == c.variable {
					return "x"
				}
				return ""
			}, Run: func(_ context.Context, input, program string, _ ...string) ([]byte, error) {
				copied = input
				if fails == nil && input == "" && program != c.program {
					t.Errorf("%s was run", program)
				}
				return []byte(out), fails
			}}
			if got, err := d.Image(t.Context()); err != nil || string(got) != png {
				t.Errorf("%q, %v", got, err)
			}
			if err := d.Copy(t.Context(), "text"); err != nil || copied != "text" {
				t.Errorf("%q, %v", copied, err)
			}
			out = "text and no picture"
			if _, err := d.Image(t.Context()); err == nil || !strings.Contains(err.Error(), "there is no image in the clipboard") {
				t.Error(err)
			}
			fails = &exec.Error{Name: c.program, Err: exec.ErrNotFound}
			if _, err := d.Image(t.Context()); err == nil || !strings.Contains(err.Error(), c.program+" is needed for that; install "+c.install) {
				t.Error(err)
			}
		})
	}
	if _, err := (Desktop{OS: "linux", Getenv: func(string) string { return "" }}).Image(t.Context()); err == nil || !strings.Contains(err.Error(), "no desktop") {
		t.Error(err)
	}
}
