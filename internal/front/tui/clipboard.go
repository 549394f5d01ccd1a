package tui

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"github.com/haftdev/haft/internal/sys/ownprogram"
	"github.com/haftdev/haft/internal/text/lang"
)

// A Clipboard is that of the desktop.
type Clipboard interface {
	// Image returns the picture in it, as a PNG.
	Image(context.Context) ([]byte, error)
	// Copy puts a text into it.
	Copy(ctx context.Context, text string) error
}

// A Desktop is the clipboard of this machine, reached by the programs that it has for that.
type Desktop struct {
	// OS is that of the machine, as runtime.GOOS; Getenv tells its variables, and Run runs a
	// program with an input. Their zero values mean those of this process.
	OS     string
	Getenv func(string) string
	Run    func(ctx context.Context, input string, name string, args ...string) ([]byte, error)
}

// A clipProgram is how the clipboard is reached.
type clipProgram struct {
	image, copy []string
	install     string // what has the programs
	decode      func([]byte) ([]byte, error)
}

const powershellImage = `Add-Type -AssemblyName System.Windows.Forms,System.Drawing; $i=[Windows.Forms.Clipboard]::GetImage(); ` +
	`if ($i) { $m=New-Object IO.MemoryStream; $i.Save($m,[Drawing.Imaging.ImageFormat]::Png); [Convert]::ToBase64String($m.ToArray()) }`

// program is the one for this desktop; false if there is no desktop.
func (d Desktop) program() (clipProgram, bool) {
	system, getenv := d.OS, d.Getenv
	if system == "" {
		system = runtime.GOOS
	}
	if getenv == nil {
		getenv = os.Getenv
	}
	powershell := clipProgram{
		image: []string{"powershell.exe", "-NoProfile", "-STA", "-Command", powershellImage},
		copy:  []string{"powershell.exe", "-NoProfile", "-Command", "[Console]::InputEncoding=[Text.Encoding]::UTF8; Set-Clipboard -Value ([Console]::In.ReadToEnd())"}, install: "PowerShell", decode: fromBase64,
	}
	switch {
	case system == "windows", getenv("WSL_DISTRO_NAME") != "":
		return powershell, true
	case system == "darwin":
		return clipProgram{image: []string{"osascript", "-e", "the clipboard as «class PNGf»"}, copy: []string{"pbcopy"}, install: "macOS", decode: fromAppleScript}, true
	case getenv("WAYLAND_DISPLAY") != "":
		return clipProgram{image: []string{"wl-paste", "--no-newline", "--type", "image/png"}, copy: []string{"wl-copy"}, install: "wl-clipboard"}, true
	case getenv("DISPLAY") != "":
		return clipProgram{image: []string{"xclip", "-selection", "clipboard", "-target", "image/png", "-o"}, copy: []string{"xclip", "-selection", "clipboard"}, install: "xclip"}, true
	}
	return clipProgram{}, false
}

var pngStart = []byte("\x89PNG\r\n\x1a\n")

// Image returns the picture in the clipboard.
func (d Desktop) Image(ctx context.Context) ([]byte, error) {
	p, ok := d.program()
	if !ok {
		return nil, lang.Errorf("could not paste an image: this session has no desktop. Mention the file instead: @picture.png")
	}
	raw, err := d.run(ctx, p, "", p.image)
	if err == nil && p.decode != nil {
		raw, err = p.decode(bytes.TrimSpace(raw))
	}
	var missing *exec.Error
	switch {
	case errors.As(err, &missing):
		return nil, lang.Errorf("could not paste an image: %s is needed for that; install %s", missing.Name, p.install)
	case err != nil || !bytes.HasPrefix(raw, pngStart):
		return nil, lang.Errorf("could not paste an image: there is no image in the clipboard")
	}
	return raw, nil
}

// Copy puts a text into the clipboard.
func (d Desktop) Copy(ctx context.Context, text string) error {
	p, ok := d.program()
	if !ok {
		return lang.Errorf("this session has no desktop")
	}
	_, err := d.run(ctx, p, text, p.copy)
	var missing *exec.Error
	if errors.As(err, &missing) {
		return lang.Errorf("%s is needed for that; install %s", missing.Name, p.install)
	}
	return err
}

// clipTime is how long a program may take, maxImage how large a picture may be.
const (
	clipTime = 10 * time.Second
	maxImage = 30 << 20
)

func (d Desktop) run(ctx context.Context, p clipProgram, input string, command []string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, clipTime)
	defer cancel()
	if d.Run != nil {
		return d.Run(ctx, input, command[0], command[1:]...)
	}
	program, err := ownprogram.Find(command[0])
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, program, command[1:]...)
	cmd.Stdin, cmd.WaitDelay = strings.NewReader(input), time.Second // xclip leaves a child behind that holds the pipe
	if input != "" {
		return nil, cmd.Run()
	}
	out, err := cmd.Output()
	if len(out) > maxImage {
		return nil, errors.New("it is too large")
	}
	return out, err
}

func fromBase64(raw []byte) ([]byte, error) { return base64.StdEncoding.DecodeString(string(raw)) }

// fromAppleScript reads «data PNGf89504E…».
func fromAppleScript(raw []byte) ([]byte, error) {
	text, ok := strings.CutPrefix(string(raw), "«data PNGf")
	if !ok {
		return nil, errors.New("it is not a picture")
	}
	var data []byte
	_, err := fmt.Sscanf(strings.TrimSuffix(text, "»"), "%x", &data)
	return data, err
}
