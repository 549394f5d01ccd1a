package provider

import (
	"bytes"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/haftdev/haft/internal/models/provider/cloud"
	"github.com/haftdev/haft/model"
)

// answerEvents are those of a short answer.
var answerEvents = []string{
	`{"type":"message_start","message":{"id":"m","model":"claude","content":[],"usage":{"input_tokens":1,"output_tokens":1}}}`,
	`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`,
	`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"hello"}}`,
	`{"type":"content_block_stop","index":0}`,
	`{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":2}}`,
	`{"type":"message_stop"}`,
}

// inEvents answers as the Messages API does.
func inEvents(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/event-stream")
	for _, ev := range answerEvents {
		fmt.Fprintf(w, "data: %s\n\n", ev)
	}
}

// inFrames answers as Bedrock does.
func inFrames(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/vnd.amazon.eventstream")
	for _, ev := range answerEvents {
		var h, b bytes.Buffer
		for _, pair := range [][2]string{{":message-type", "event"}, {":event-type", "chunk"}} {
			h.WriteByte(byte(len(pair[0])))
			h.WriteString(pair[0])
			h.WriteByte(7)
			_ = binary.Write(&h, binary.BigEndian, uint16(len(pair[1])))
			h.WriteString(pair[1])
		}
		payload := fmt.Sprintf(`{"bytes":%q,"p":"abc"}`, base64.StdEncoding.EncodeToString([]byte(ev)))
		_ = binary.Write(&b, binary.BigEndian, uint32(16+h.Len()+len(payload)))
		_ = binary.Write(&b, binary.BigEndian, uint32(h.Len()))
		_ = binary.Write(&b, binary.BigEndian, crc32.ChecksumIEEE(b.Bytes()))
		b.Write(h.Bytes())
		b.WriteString(payload)
		_ = binary.Write(&b, binary.BigEndian, crc32.ChecksumIEEE(b.Bytes()))
		_, _ = w.Write(b.Bytes())
	}
}

// hello asks for one answer.
func hello(t *testing.T, e env) ([]string, Info) {
	t.Helper()
	m, info, err := Open(&Options{Getenv: e.get, MaxRetries: -1})
	if err != nil {
		t.Fatal(err)
	}
	h := &model.History{}
	if err := h.Append(model.Message{Role: model.User, Content: []model.Block{model.TextOf("hi <you>")}}); err != nil {
		t.Fatal(err)
	}
	said, _ := exchange(t, m, &model.Request{Model: info.Model, Messages: h, Betas: []string{"one-2025-01-01", "two-2025-01-01"}})
	return said, info
}

func members(t *testing.T, r *http.Request) (body []byte, m map[string]any) {
	body, err := io.ReadAll(r.Body)
	if err == nil {
		err = json.Unmarshal(body, &m)
	}
	if err != nil {
		t.Errorf("the body is %s: %v", body, err)
	}
	return body, m
}

// TestBedrockChecksTheSignature asks a stand-in that signs what it got once more and
// compares.
func TestBedrockChecksTheSignature(t *testing.T) {
	keys := cloud.Keys{ID: "AKID", Secret: "secret", Session: "session"}
	seen := false
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, m := members(t, r)
		if r.URL.EscapedPath() != "/model/us.anthropic.claude-sonnet-4-5-20250929-v1%3A0/invoke-with-response-stream" {
			t.Errorf("asked %s", r.URL.EscapedPath())
		}
		if m["model"] != nil || m["stream"] != nil || m["anthropic_version"] != "bedrock-2023-05-31" || !strings.HasPrefix(fmt.Sprint(m["anthropic_beta"]), "[one-2025-01-01 two-2025-01-01") {
			t.Errorf("the body is %v", m)
		}
		at, err := time.Parse("20060102T150405Z", r.Header.Get("X-Amz-Date"))
		if err != nil {
			t.Error(err)
		}
		again := cloud.Bedrock(&cloud.BedrockOptions{Region: "us-east-1", Keys: func() (cloud.Keys, error) { return keys, nil }, Now: func() time.Time { return at }})
		signed := r.Header.Get("Authorization")
		if err := again.Sign(r.Context(), r, body); err != nil || r.Header.Get("Authorization") != signed {
			t.Errorf("the signature is %s, want %s, %v", signed, r.Header.Get("Authorization"), err)
		}
		if err := again.Sign(r.Context(), r, append(body, ' ')); err != nil || r.Header.Get("Authorization") == signed {
			t.Error("the body is not signed")
		}
		seen = true
		inFrames(w)
	}))
	defer srv.Close()
	said, info := hello(t, env{
		"CLAUDE_CODE_USE_BEDROCK": "1", "AWS_REGION": "us-east-1", "ANTHROPIC_BEDROCK_BASE_URL": srv.URL, "ANTHROPIC_MODEL": "claude-sonnet-4-5-20250929",
		"AWS_ACCESS_KEY_ID": keys.ID, "AWS_SECRET_ACCESS_KEY": keys.Secret, "AWS_SESSION_TOKEN": keys.Session, "ANTHROPIC_API_KEY": "sk-not-for-amazon",
	})
	if !seen || info.Provider != "bedrock" || strings.Join(said, "|") != "text hello|stop end_turn" {
		t.Errorf("said %v by %+v", said, info)
	}
}

func TestBedrockWithAKeyOfItsOwnAndAnError(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer bedrock-key" || r.Header.Get("X-Amz-Date") != "" {
			t.Errorf("the headers are %v", r.Header)
		}
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprint(w, `{"message":"You have no access to this model."}`)
	}))
	defer srv.Close()
	m, info, err := Open(&Options{MaxRetries: -1, Getenv: env{"CLAUDE_CODE_USE_BEDROCK": "true", "AWS_REGION": "eu-west-1", "ANTHROPIC_BEDROCK_BASE_URL": srv.URL, "AWS_BEARER_TOKEN_BEDROCK": "bedrock-key"}.get})
	if err != nil || info.KeySource != "AWS_BEARER_TOKEN_BEDROCK" {
		t.Fatalf("%+v, %v", info, err)
	}
	h := &model.History{}
	if err := h.Append(model.Message{Role: model.User, Content: []model.Block{model.TextOf("hi")}}); err != nil {
		t.Fatal(err)
	}
	for _, err := range m.Stream(t.Context(), &model.Request{Model: info.Model, Messages: h}) {
		if failed := (*model.Error)(nil); err != nil && (!errors.As(err, &failed) || !strings.Contains(err.Error(), "You have no access to this model.")) {
			t.Errorf("the error is %v", err)
		}
	}
}

// TestMissingCredentialsAreNotANetworkProblem: they are named, and no second request is made.
func TestMissingCredentialsAreNotANetworkProblem(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "none")
	for want, e := range map[string]env{
		"could not sign the request for Amazon Bedrock": {"CLAUDE_CODE_USE_BEDROCK": "1", "AWS_REGION": "eu-west-1", "AWS_SHARED_CREDENTIALS_FILE": missing},
		"could not log in to Vertex AI":                 {"CLAUDE_CODE_USE_VERTEX": "1", "ANTHROPIC_VERTEX_PROJECT_ID": "p", "GOOGLE_APPLICATION_CREDENTIALS": missing},
	} {
		m, info, err := Open(&Options{MaxRetries: -1, Getenv: e.get})
		if err != nil {
			t.Fatal(err)
		}
		h := &model.History{}
		if err := h.Append(model.Message{Role: model.User, Content: []model.Block{model.TextOf("hi")}}); err != nil {
			t.Fatal(err)
		}
		var failed *model.Error
		for _, err := range m.Stream(t.Context(), &model.Request{Model: info.Model, Messages: h}) {
			errors.As(err, &failed)
		}
		if failed == nil || failed.Temporary() || !strings.HasPrefix(failed.Error(), want) || strings.Contains(failed.Error(), "network") {
			t.Errorf("the error is %v", failed)
		}
	}
}

// TestVertexLogsInWithAServiceAccount checks the statement that the account signs, and that
// a token is kept.
func TestVertexLogsInWithAServiceAccount(t *testing.T) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	logins := 0
	mux := http.NewServeMux()
	mux.HandleFunc("/token", func(w http.ResponseWriter, r *http.Request) {
		logins++
		parts := strings.Split(r.FormValue("assertion"), ".")
		if len(parts) != 3 {
			t.Errorf("the form is %v", r.Form)
			return
		}
		sum := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
		signature, _ := base64.RawURLEncoding.DecodeString(parts[2])
		if err := rsa.VerifyPKCS1v15(&key.PublicKey, crypto.SHA256, sum[:], signature); err != nil {
			t.Error(err)
		}
		fmt.Fprint(w, `{"access_token":"ya29.token","expires_in":3600}`)
	})
	mux.HandleFunc("/v1/", func(w http.ResponseWriter, r *http.Request) {
		_, m := members(t, r)
		if r.URL.Path != "/v1/projects/my-project/locations/europe-west1/publishers/anthropic/models/claude-sonnet-4-5@20250929:streamRawPredict" {
			t.Errorf("asked %s", r.URL.Path)
		}
		if r.Header.Get("Authorization") != "Bearer ya29.token" || r.Header.Get("X-Api-Key") != "" || m["model"] != nil || m["stream"] != true || m["anthropic_version"] != "vertex-2023-10-16" {
			t.Errorf("the request is %v %v", r.Header, m)
		}
		inEvents(w)
	})
	srv := httptest.NewServer(mux)
	defer srv.Close()
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "key.json")
	text, _ := json.Marshal(map[string]string{"type": "service_account", "client_email": "a@b", "private_key_id": "1", "token_uri": srv.URL + "/token", "private_key": string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))})
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	e := env{
		"CLAUDE_CODE_USE_VERTEX": "1", "ANTHROPIC_VERTEX_PROJECT_ID": "my-project", "CLOUD_ML_REGION": "europe-west1", "ANTHROPIC_VERTEX_BASE_URL": srv.URL + "/v1",
		"GOOGLE_APPLICATION_CREDENTIALS": file, "ANTHROPIC_MODEL": "claude-sonnet-4-5-20250929", "ANTHROPIC_API_KEY": "sk-not-for-google",
	}
	if said, info := hello(t, e); info.Provider != "vertex" || strings.Join(said, "|") != "text hello|stop end_turn" || logins != 1 {
		t.Errorf("said %v by %+v after %d logins", said, info, logins)
	}
}

func TestFoundry(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, m := members(t, r)
		if r.URL.Path != "/anthropic/v1/messages" || r.Header.Get("X-Api-Key") != "azure-key" || m["model"] != "my-deployment" {
			t.Errorf("asked %s with %v for %v", r.URL.Path, r.Header, m["model"])
		}
		inEvents(w)
	}))
	defer srv.Close()
	said, info := hello(t, env{"CLAUDE_CODE_USE_FOUNDRY": "1", "ANTHROPIC_FOUNDRY_BASE_URL": srv.URL + "/anthropic", "ANTHROPIC_FOUNDRY_API_KEY": "azure-key", "ANTHROPIC_MODEL": "my-deployment", "ANTHROPIC_API_KEY": "sk-not-for-azure"})
	if info.Provider != "foundry" || strings.Join(said, "|") != "text hello|stop end_turn" {
		t.Errorf("said %v by %+v", said, info)
	}
}

// TestAVariableIsNeverAnotherProvider: with a key for Anthropic at hand, a cloud that is
// chosen and cannot be used is an error.
func TestAVariableIsNeverAnotherProvider(t *testing.T) {
	for want, e := range map[string]env{
		"AWS_REGION is not":                                      {"CLAUDE_CODE_USE_BEDROCK": "1"},
		"is not an AWS region":                                   {"CLAUDE_CODE_USE_BEDROCK": "1", "AWS_REGION": "evil.example/"},
		"ANTHROPIC_VERTEX_PROJECT_ID is not":                     {"CLAUDE_CODE_USE_VERTEX": "yes"},
		"neither ANTHROPIC_FOUNDRY_RESOURCE":                     {"CLAUDE_CODE_USE_FOUNDRY": "1"},
		"is not the name of a resource":                          {"CLAUDE_CODE_USE_FOUNDRY": "1", "ANTHROPIC_FOUNDRY_RESOURCE": "https://res"},
		"there are no credentials":                               {"CLAUDE_CODE_USE_FOUNDRY": "1", "ANTHROPIC_FOUNDRY_RESOURCE": "res"},
		"CLAUDE_CODE_USE_BEDROCK and CLAUDE_CODE_USE_VERTEX are": {"CLAUDE_CODE_USE_BEDROCK": "1", "CLAUDE_CODE_USE_VERTEX": "1"},
		"could not use CLAUDE_CODE_USE_MANTLE":                   {"CLAUDE_CODE_USE_MANTLE": "1"},
		"could not use CLAUDE_CODE_USE_ANTHROPIC_AWS":            {"CLAUDE_CODE_USE_ANTHROPIC_AWS": "1"},
	} {
		e["ANTHROPIC_API_KEY"] = "sk-ant"
		if _, info, err := Open(&Options{Getenv: e.get}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %+v, %v", e, info, err)
		}
	}
	if _, info, err := Open(&Options{Getenv: env{"CLAUDE_CODE_USE_BEDROCK": "0", "ANTHROPIC_API_KEY": "sk-ant"}.get}); err != nil || info.Provider != "anthropic" {
		t.Errorf("switched off: %+v, %v", info, err)
	}
	_, info, err := Open(&Options{Model: "haiku", Getenv: env{"CLAUDE_CODE_USE_BEDROCK": "1", "AWS_REGION": "us-east-1", "ANTHROPIC_DEFAULT_HAIKU_MODEL": "us.anthropic.mine"}.get})
	if err != nil || info.Model != "us.anthropic.mine" || !regexp.MustCompile(`^https://bedrock-runtime\.us-east-1\.amazonaws\.com$`).MatchString(info.Server) {
		t.Errorf("an alias: %+v, %v", info, err)
	}
}

// The server that is named is the one that is asked, for each kind of region.
func TestVertexAsksTheServerOfARegion(t *testing.T) {
	for region, want := range map[string]string{
		"global": "https://aiplatform.googleapis.com", "us": "https://aiplatform.us.rep.googleapis.com", "eu": "https://aiplatform.eu.rep.googleapis.com",
		"us-east5": "https://us-east5-aiplatform.googleapis.com", "": "https://us-east5-aiplatform.googleapis.com",
	} {
		e := env{"CLAUDE_CODE_USE_VERTEX": "1", "CLAUDE_CODE_SKIP_VERTEX_AUTH": "1", "ANTHROPIC_VERTEX_PROJECT_ID": "p", "CLOUD_ML_REGION": region}
		_, info, err := Open(&Options{Getenv: e.get})
		if err != nil || info.Server != want {
			t.Errorf("%q: %s, %v", region, info.Server, err)
		}
	}
}
