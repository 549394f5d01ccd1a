package cli

import (
	"slices"
	"testing"
)

func TestSecretsOfServersAreNotShown(t *testing.T) {
	for given, want := range map[string]string{
		"https://h/mcp":                       "https://h/mcp",
		"https://h/mcp?a=1&token=abc&key=x":   "https://h/mcp?a=1&token=***&key=***",
		"https://me:pw@h/mcp":                 "https://me:xxxxx@h/mcp",
		"https://h/mcp?api_key=%zz&tokens=30": "https://h/mcp?api_key=***&tokens=30",
	} {
		if got := shownURL(given); got != want {
			t.Errorf("%s is shown as %s, want %s", given, got, want)
		}
	}
	got := shownCommand([]string{"npx", "srv", "--api-key", "abc", "--token=def", "--password", "--verbose", "-p", "1"})
	want := []string{"npx", "srv", "--api-key", "***", "--token=***", "--password", "--verbose", "-p", "1"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
