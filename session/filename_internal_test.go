package session

import "testing"

func TestAgentsNamesStayInTheirFolder(t *testing.T) {
	for name, want := range map[string]string{"AZaz09-_": "AZaz09-_", "../b": "___b", "a/b\\c.d": "a_b_c_d", "@[`{/:": "______", "ä": "_"} {
		if got := fileName(name); got != want {
			t.Errorf("%q becomes %q, want %q", name, got, want)
		}
	}
}
