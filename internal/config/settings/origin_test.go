package settings

import "testing"

func TestAnOriginNamesWhatIsKnown(t *testing.T) {
	for want, o := range map[string]Origin{
		"managed settings": {Source: Managed},
		"/p/s.json":        {Source: Project, File: "/p/s.json"},
		"/p/s.json:7":      {Source: Project, File: "/p/s.json", Line: 7},
	} {
		if got := o.String(); got != want {
			t.Errorf("%+v is %q, want %q", o, got, want)
		}
	}
}
