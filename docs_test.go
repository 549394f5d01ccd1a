package haft_test

import (
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/haftdev/haft"
)

func TestGuideNamesEveryMethodOfAClient(t *testing.T) {
	page, err := os.ReadFile("docs/sdk.md")
	if err != nil {
		t.Fatal(err)
	}
	client := reflect.TypeFor[*haft.Client]()
	if client.NumMethod() == 0 {
		t.Fatal("a client has no methods")
	}
	for m := range client.Methods() {
		if !regexp.MustCompile("`(Client\\.)?" + m.Name + "`").Match(page) {
			t.Errorf("docs/sdk.md does not name Client.%s", m.Name)
		}
	}
}

// In the migration page, what the Go columns name must exist.
func TestMigrationPageNamesWhatExists(t *testing.T) {
	page, err := os.ReadFile("docs/migrate.md")
	if err != nil {
		t.Fatal(err)
	}
	source := declared(t)
	names := regexp.MustCompile("`(?:haft|c)\\.([A-Z]\\w+)").FindAllStringSubmatch(string(page), -1)
	options := regexp.MustCompile("(?m)\\| `([A-Z]\\w+)`[^|]*\\|$").FindAllStringSubmatch(string(page), -1)
	if len(names) < 20 || len(options) < 10 {
		t.Fatalf("found only %d names and %d options", len(names), len(options))
	}
	for _, m := range append(names, options...) {
		if !regexp.MustCompile(`\b` + m[1] + `\b`).MatchString(source) {
			t.Errorf("%s does not exist", m[1])
		}
	}
}

// declared returns the source of the package.
func declared(t *testing.T) string {
	t.Helper()
	files, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, f := range files {
		if strings.HasSuffix(f.Name(), ".go") && !strings.HasSuffix(f.Name(), "_test.go") {
			raw, err := os.ReadFile(f.Name())
			if err != nil {
				t.Fatal(err)
			}
			b.Write(raw)
		}
	}
	return b.String()
}
