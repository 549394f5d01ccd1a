package settings

import "testing"

func TestAListOfAddressesEndsWithTheHost(t *testing.T) {
	for _, c := range []struct {
		pattern, address string
		want             bool
	}{
		{"https://hooks.example.com/*", "https://hooks.example.com/a/b?c=d", true},
		{"https://hooks.example.com/*", "https://HOOKS.example.com/", true},
		{"https://hooks.example.com/*", "http://hooks.example.com/a", false},
		{"https://hooks.example.com/*", "https://hooks.example.com.evil.example/a", false},
		{"https://hooks.example.com/*", "https://hooks.example.com@evil.example/a", false},
		{"https://hooks.example.com/*", "https://evil.example/https://hooks.example.com/a", false},
		{"https://*.example.com/*", "https://a.b.example.com/x", true},
		{"https://*.example.com/*", "https://evil.example/.example.com/x", false},
		{"https://*.example.com/*", "https://evil.example?.example.com/x", false},
		{"https://example.com", "https://example.com", true},
		{"https://example.com/a", "https://example.com/a/b", false},
		{"http://localhost:*/*", "http://localhost:8080/x", true},
		{"*", "https://example.com/", false},
		{"https://example.com/*", "://", false},
	} {
		if got := matchURL(c.pattern, c.address); got != c.want {
			t.Errorf("%s allows %s: %t, want %t", c.pattern, c.address, got, c.want)
		}
	}
}

func TestNobodyAddsToTheListOfAnAdministrator(t *testing.T) {
	file := func(source Source, text string) *File {
		f, err := Parse(source, "settings.json", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	managed := file(Managed, `{"httpHookAllowedEnvVars":["A","B"]}`)
	user := file(User, `{"httpHookAllowedEnvVars":["B","C"]}`)
	flag := file(Flag, `{"httpHookAllowedEnvVars":["D"]}`)
	for _, c := range []struct {
		name  string
		files []*File
		want  string
	}{
		{"without a list all are allowed", nil, "ABCD"},
		{"lists of people add up", []*File{flag, user}, "BCD"},
		{"both the administrator and the person must list it", []*File{managed, user}, "B"},
		{"an empty list allows nothing", []*File{file(User, `{"httpHookAllowedEnvVars":[]}`)}, ""},
	} {
		allowed, got := Of(c.files...).HookVariables(), ""
		for _, name := range []string{"A", "B", "C", "D"} {
			if allowed.Allow(name) {
				got += name
			}
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
