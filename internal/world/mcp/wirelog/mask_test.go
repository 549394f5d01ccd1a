package wirelog

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/haftdev/haft/internal/text/redact"
)

func TestSecretsAreTakenOut(t *testing.T) {
	m := &mask{redact.New([]string{"trombone", "trom", "abc"})}
	for _, c := range []struct{ name, message, want string }{
		{"what is no secret stays as it is, in its order", ` {"b":1.50,"a":"<x>","c":[true,null,"trom "]}`, `{"b":1.50,"a":"<x>","c":[true,null,"*** "]}`},
		{"a field of a telling name", `{"access_token":"a","apiKey":1,"Authorization":{"x":["y",true]},"my-password":"p"}`, `{"access_token":"***","apiKey":"***","Authorization":{"x":["***",true]},"my-password":"***"}`},
		{"names that only sound so", `{"progressToken":1,"tokens":2,"nextCursor":"c","spin":"s","key":"k"}`, `{"progressToken":1,"tokens":2,"nextCursor":"c","spin":"s","key":"k"}`},
		{"a schema says what is asked for", `{"inputSchema":{"properties":{"password":{"type":"string"}}}}`, `{"inputSchema":{"properties":{"password":{"type":"string"}}}}`},
		{"a known value, the longest first", `{"text":"say trombone abc","trombone":1}`, `{"text":"say *** abc","***":1}`},
		{"a header in a text", `{"t":"curl -H 'Authorization: Bearer abcdef123456'"}`, `{"t":"curl -H 'Authorization: ***'"}`},
		{"a web token", `"eyJhbGciOiJI.eyJzdWIiOiIx.sig_1"`, `"***"`},
		{"keys of providers", `["sk-one-two-three-four-five","ghp_abcdefghij0123456789","AKIAABCDEFGHIJKLMNOP"]`, `["***","***","***"]`},
		{"a password in an address", `"postgres://me:pw@db/x"`, `"postgres***db/x"`},
		{"what is no JSON", `{"token":"x"`, `{"jsonrpc":"2.0","id":0,"omitted":12}`},
	} {
		if got := string(m.message([]byte(c.message))); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, c.want)
		}
	}
}

func FuzzMask(f *testing.F) {
	f.Add([]byte(`{"a":[1,{"token":"trombone"}],"b":"\u0074rombone"}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		got := (&mask{redact.New([]string{"trombone"})}).message(raw)
		var value any
		numbers := json.NewDecoder(bytes.NewReader(got))
		numbers.UseNumber() // also those that no float holds
		if err := numbers.Decode(&value); err != nil {
			t.Fatalf("%q became %q: %v", raw, got, err)
		}
		if plain, _ := json.Marshal(value); strings.Contains(string(plain), "trombone") {
			t.Fatalf("%q became %q", raw, got)
		}
	})
}
