package cli

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestResumeMayStandAlone(t *testing.T) {
	for name, c := range map[string]struct{ args, want []string }{
		"at the end":          {[]string{"--resume"}, []string{"--resume="}},
		"before a flag":       {[]string{"-r", "--model=x"}, []string{"--resume=", "--model=x"}},
		"with a session's id": {[]string{"--resume", "id"}, []string{"--resume", "id"}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, normalize(c.args)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
