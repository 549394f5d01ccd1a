package cloud

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestSignatures are of the suite that AWS has published for Signature Version 4.
func TestSignatures(t *testing.T) {
	at := time.Date(2015, 8, 30, 12, 36, 0, 0, time.UTC)
	for _, test := range []struct{ name, method, url, kind, body, want string }{
		{"get-vanilla", "GET", "https://example.amazonaws.com/", "", "", "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"},
		{"post-vanilla", "POST", "https://example.amazonaws.com/", "", "", "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"},
		{"get-vanilla-query-order-key-case", "GET", "https://example.amazonaws.com/?Param2=value2&Param1=value1", "", "", "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500"},
		{"post-x-www-form-urlencoded", "POST", "https://example.amazonaws.com/", "application/x-www-form-urlencoded", "Param1=value1", "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a"},
	} {
		t.Run(test.name, func(t *testing.T) {
			r, err := http.NewRequest(test.method, test.url, strings.NewReader(test.body))
			if err != nil {
				t.Fatal(err)
			}
			if test.kind != "" {
				r.Header.Set("Content-Type", test.kind)
			}
			s := &signer{Keys{ID: "AKIDEXAMPLE", Secret: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"}, "us-east-1", "service"}
			s.sign(r, []byte(test.body), at)
			if got := r.Header.Get("Authorization"); !strings.HasSuffix(got, "Signature="+test.want) {
				t.Errorf("got %s", got)
			}
		})
	}
}

// TestAPathIsEscapedTwice because the service escapes what it receives.
func TestAPathIsEscapedTwice(t *testing.T) {
	r, err := http.NewRequest("POST", "https://h/model/"+segment("us.anthropic.claude-x-v1:0")+"/invoke", nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := canonicalPath(r.URL); got != "/model/us.anthropic.claude-x-v1%253A0/invoke" {
		t.Errorf("got %s", got)
	}
}

func TestNamesOfModels(t *testing.T) {
	for name, want := range map[string]string{
		"claude-opus-5-5":                       "eu.anthropic.claude-opus-5-5",
		"claude-sonnet-4-5-20250929":            "eu.anthropic.claude-sonnet-4-5-20250929-v1:0",
		"us.anthropic.claude-x":                 "us.anthropic.claude-x",
		"arn:aws:bedrock:eu-west-1:1:profile/x": "arn:aws:bedrock:eu-west-1:1:profile/x",
	} {
		if got := bedrockModel(name, "eu-west-1"); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
}

func TestKeysOfAProfile(t *testing.T) {
	text := "[default]\naws_access_key_id = a\naws_secret_access_key=b\n[other]\naws_access_key_id=c\naws_secret_access_key = d=\naws_session_token = e\n"
	if got := profileKeys(text, "other"); got != (Keys{"c", "d=", "e"}) {
		t.Errorf("got %+v", got)
	}
	_, err := AWSKeys(func(string) string { return "" }, t.TempDir())
	if err == nil || !strings.Contains(err.Error(), "AWS_ACCESS_KEY_ID") {
		t.Errorf("without keys: %v", err)
	}
}
