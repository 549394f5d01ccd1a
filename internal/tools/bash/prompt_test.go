package bash

import (
	"testing"

	"github.com/haftdev/haft/internal/world/shellrun"
)

func TestPromptsAreNoticed(t *testing.T) {
	for line, want := range map[string]bool{
		"[sudo] password for me: ": true,
		"Password: ":               true,
		"me@host's password: ":     true,
		"Enter passphrase for key '/home/me/.ssh/id_ed25519': ":                 true,
		"Username for 'https://github.com': ":                                   true,
		"Are you sure you want to continue connecting (yes/no/[fingerprint])? ": true,
		"Do you want to continue? [Y/n] ":                                       true,
		"--More--(12%)":                                                         true,
		"lines 1-20 (END)":                                                      true,
		"Press any key to continue . . .":                                       true,
		"compiling main.go":                                                     false,
		"done: 100%":                                                            false,
		"listening on http://localhost:3000":                                    false,
		"":                                                                      false,
		"Testing login flow: ":                                                  false,
		"checking password strength: ":                                          false,
		"Overwrite? (y/n)":                                                      false,
	} {
		found := 0
		w := promptWatch{found: func() { found++ }}
		for range promptPatience {
			w.see(shellrun.Progress{Last: "earlier line\n" + line, Total: shellrun.Counts{Bytes: 10}})
		}
		if (found == 1) != want {
			t.Errorf("%q: found %d times, want %v", line, found, want)
		}
	}
}

func TestAPromptMustStandUnanswered(t *testing.T) {
	w := promptWatch{found: func() { t.Error("found while output arrives") }}
	for i := range int64(10) {
		w.see(shellrun.Progress{Last: "Password: ", Total: shellrun.Counts{Bytes: i}})
	}
	for range 10 {
		w.see(shellrun.Progress{Last: "Password: ", EndsLine: true, Total: shellrun.Counts{Bytes: 99}})
	}
}
