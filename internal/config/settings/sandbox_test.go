package settings

import "testing"

func TestSandboxRequired(t *testing.T) {
	for text, want := range map[string]bool{
		`{"sandbox":{"enabled":true,"failIfUnavailable":true}}`:  true,
		`{"sandbox":{"enabled":false,"failIfUnavailable":true}}`: false,
		`{"sandbox":{"failIfUnavailable":true}}`:                 false,
		`{"sandbox":{"enabled":true}}`:                           false,
		`{"sandbox":{"enabled":true,"failIfUnavailable":"yes"}}`: false,
	} {
		f, err := Parse(User, "settings.json", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		origin, got := Of(f).SandboxRequired()
		if got != want || got && origin.Source != User {
			t.Errorf("%s: %v (%s), want %v", text, got, origin, want)
		}
	}
}
