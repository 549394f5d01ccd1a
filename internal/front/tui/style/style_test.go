package style_test

import (
	"testing"

	"github.com/haftdev/haft/internal/front/tui/style"
)

func TestDetect(t *testing.T) {
	for _, c := range []struct {
		name string
		env  map[string]string
		want style.Background
	}{
		{"nothing is said", nil, style.Dark},
		{"no colour is wanted", map[string]string{"NO_COLOR": "1", "COLORFGBG": "0;15"}, style.Plain},
		{"the terminal can do nothing", map[string]string{"TERM": "dumb"}, style.Plain},
		{"the terminal says light", map[string]string{"COLORFGBG": "0;15"}, style.Light},
		{"the terminal says dark", map[string]string{"COLORFGBG": "15;0"}, style.Dark},
		{"the person has the last word", map[string]string{"HAFT_THEME": "light", "NO_COLOR": "1"}, style.Light},
	} {
		if got := style.Detect(func(name string) string { return c.env[name] }); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

func TestPlainHasNoEscapes(t *testing.T) {
	p := style.Of(style.Plain)
	if got := p.Bold.With(p.Dim).Of("x"); got != "x" {
		t.Errorf("%q", got)
	}
	if got := style.Style("1").With("2").Of("x"); got != "\x1b[1;2mx\x1b[0m" {
		t.Errorf("%q", got)
	}
}

func TestFineShades(t *testing.T) {
	fine := func(string) string { return "truecolor" }
	if p := style.Of(style.Dark).Fine(fine); p.Added == style.Of(style.Dark).Added || p.Removed == style.Of(style.Dark).Removed || p.Bold != style.Of(style.Dark).Bold {
		t.Errorf("got %+v", p)
	}
	for _, b := range []style.Background{style.Light, style.Plain} {
		if style.Of(b).Fine(fine) != style.Of(b) {
			t.Errorf("%s is changed", b)
		}
	}
	if style.Of(style.Dark).Fine(func(string) string { return "" }) != style.Of(style.Dark) {
		t.Error("a terminal that does not have them gets them")
	}
}
