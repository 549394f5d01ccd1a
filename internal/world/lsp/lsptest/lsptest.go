// Package lsptest is a language server for tests, well behaved or not. A test program
// calls [Serve] first in its TestMain and starts itself as the server:
//
//	func TestMain(m *testing.M) {
//		lsptest.Serve(os.Stdin, os.Stdout)
//		shellrun.Supervise()
//		os.Exit(m.Run())
//	}
//
//	def := lsptest.Definition("good")
//
// It understands files that end in .fake, in which every word is defined where it
// first occurs, and "wrong" is an error.
package lsptest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/haftdev/haft/internal/test/needtest"
	"github.com/haftdev/haft/internal/world/lsp"
)

// variable says how the server behaves.
const variable = "HAFT_TEST_LANGUAGE_SERVER"

// Definition is the server with a behaviour: good (it reports errors by itself), pull
// (it is asked for them), or bad in a way: huge, header, garbage, truncated, silent,
// deaf, ends, flood, asks, slow, nested, writes (it tries to write in its project, and
// a hover says what became of it).
func Definition(behaviour string) lsp.Definition {
	program, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return lsp.Definition{
		Name: "fake", Programs: []string{program}, Languages: map[string]string{".fake": "fake"}, Env: []string{variable + "=" + behaviour},
		Install: "nothing", Settings: json.RawMessage(`{"fake":{"deep":7}}`),
	}
}

// Settings are the user's settings that set the server up.
func Settings(behaviour string) string {
	d := Definition(behaviour)
	raw, err := json.Marshal(map[string]any{"lspServers": map[string]any{d.Name: map[string]any{
		"command": d.Programs[0], "extensionToLanguage": d.Languages, "env": map[string]string{variable: behaviour}, "settings": d.Settings,
	}}})
	if err != nil {
		panic(err)
	}
	return string(raw)
}

// Serve makes this process the server, if it was started as one, and does not return
// then. In and out are its standard input and output.
func Serve(in io.Reader, out io.WriteCloser) {
	behaviour := os.Getenv(variable)
	if behaviour == "" {
		return
	}
	s := &server{behaviour: behaviour, in: bufio.NewReader(in), out: out, texts: map[string]string{}}
	s.serve()
	os.Exit(0)
}

type server struct {
	behaviour string
	in        *bufio.Reader
	out       io.WriteCloser
	texts     map[string]string // by URI
}

type message struct {
	ID     json.RawMessage `json:"id,omitempty"`
	Method string          `json:"method,omitempty"`
	Params json.RawMessage `json:"params,omitempty"`
	Result any             `json:"result,omitempty"`
}

func (s *server) serve() {
	switch s.behaviour {
	case "huge":
		fmt.Fprint(s.out, "Content-Length: 99999999999\r\n\r\n{}")
		needtest.Hang()
	case "header":
		for {
			fmt.Fprint(s.out, "X-Endless: ")
		}
	case "garbage":
		fmt.Fprintln(s.out, "Usage: fake [options] file")
		needtest.Hang()
	case "truncated":
		fmt.Fprint(s.out, "Content-Length: 1000\r\n\r\n{\"jsonrpc\":")
		s.out.Close()
		needtest.Hang()
	case "nested":
		body := strings.Repeat("[", 1_000_000)
		fmt.Fprintf(s.out, "Content-Length: %d\r\n\r\n%s", len(body), body)
		needtest.Hang()
	case "silent":
		needtest.Hang()
	case "ends":
		fmt.Fprintln(os.Stderr, "fake: cannot find my library")
		os.Exit(3)
	}
	for {
		m, err := s.read()
		if err != nil {
			return
		}
		s.answer(m)
	}
}

func (s *server) read() (m message, err error) {
	length := 0
	for {
		line, err := s.in.ReadString('\n')
		if err != nil {
			return m, err
		}
		if line = strings.TrimSpace(line); line == "" {
			break
		}
		fmt.Sscanf(line, "Content-Length: %d", &length)
	}
	body := make([]byte, length)
	if _, err := io.ReadFull(s.in, body); err != nil {
		return m, err
	}
	return m, json.Unmarshal(body, &m)
}

func (s *server) send(m message) {
	body, err := json.Marshal(struct {
		Version string `json:"jsonrpc"`
		message
	}{"2.0", m})
	if err != nil {
		panic(err)
	}
	fmt.Fprintf(s.out, "Content-Length: %d\r\n\r\n%s", len(body), body)
}

func (s *server) answer(m message) {
	var p struct {
		TextDocument struct {
			URI     string `json:"uri"`
			Text    string `json:"text"`
			Version int    `json:"version"`
		} `json:"textDocument"`
		Changes  []struct{ Text string } `json:"contentChanges"`
		Position lsp.Position            `json:"position"`
	}
	_ = json.Unmarshal(m.Params, &p)
	uri := p.TextDocument.URI
	switch m.Method {
	case "initialize":
		s.send(message{ID: m.ID, Result: map[string]any{"capabilities": map[string]any{"diagnosticProvider": s.behaviour == "pull"}}})
	case "initialized":
		s.misbehave()
	case "textDocument/didOpen":
		s.texts[uri] = p.TextDocument.Text
		s.report(uri, p.TextDocument.Version)
	case "textDocument/didChange":
		s.texts[uri] = p.Changes[0].Text
		s.report(uri, p.TextDocument.Version)
	case "textDocument/definition":
		s.send(message{ID: m.ID, Result: s.define(uri, p.Position)})
	case "textDocument/diagnostic":
		s.send(message{ID: m.ID, Result: map[string]any{"kind": "full", "items": s.errors(uri)}})
	case "textDocument/hover":
		switch s.behaviour {
		case "slow":
		case "writes":
			err := os.WriteFile("written-by-server", nil, 0o644)
			s.send(message{ID: m.ID, Result: map[string]any{"contents": fmt.Sprintf("write: %v", err)}})
		default:
			s.send(message{ID: m.ID, Result: map[string]any{"contents": "a word"}})
		}
	default:
		if len(m.ID) > 0 && m.Method != "" {
			s.send(message{ID: m.ID, Result: []any{}})
		}
	}
}

// misbehave does what a server should not, once it has started.
func (s *server) misbehave() {
	switch s.behaviour {
	case "deaf":
		time.Sleep(time.Hour)
	case "flood":
		for i := range 5_000 {
			s.texts["file:///flood"] = "wrong"
			s.send(message{Method: "textDocument/publishDiagnostics", Params: json.RawMessage(fmt.Sprintf(`{"uri":"file:///f%d","diagnostics":[{"message":%q}]}`, i, strings.Repeat("x", 2000)))})
		}
	case "asks":
		s.send(message{ID: json.RawMessage(`"one"`), Method: "workspace/configuration", Params: json.RawMessage(`{"items":[{"section":"fake.deep"},{"section":"none"}]}`)})
		var others []message
		m, err := s.read()
		for ; m.Method != "" && err == nil; m, err = s.read() {
			others = append(others, m)
		}
		if fmt.Sprint(string(m.ID), m.Result) != `"one"[7 <nil>]` {
			fmt.Fprintln(os.Stderr, "wrong answer:", string(m.ID), m.Result)
			os.Exit(4)
		}
		s.send(message{ID: json.RawMessage(`2`), Method: "fake/unknown"})
		for _, m := range others {
			s.answer(m)
		}
	}
}

func (s *server) errors(uri string) []lsp.Diagnostic {
	list := []lsp.Diagnostic{}
	for n, line := range strings.Split(s.texts[uri], "\n") {
		if i := strings.Index(line, "wrong"); i >= 0 {
			at := lsp.Position{Line: n, Character: i}
			list = append(list, lsp.Diagnostic{Range: lsp.Range{Start: at, End: at}, Message: "wrong: " + line})
		}
	}
	return list
}

func (s *server) report(uri string, version int) {
	if s.behaviour == "pull" {
		return
	}
	params, err := json.Marshal(map[string]any{"uri": uri, "version": version, "diagnostics": s.errors(uri)})
	if err != nil {
		panic(err)
	}
	s.send(message{Method: "textDocument/publishDiagnostics", Params: params})
}

// define finds the first occurrence of the word at a place.
func (s *server) define(uri string, at lsp.Position) []lsp.Location {
	lines := strings.Split(s.texts[uri], "\n")
	if at.Line >= len(lines) || at.Character > len(lines[at.Line]) {
		return nil
	}
	line := lines[at.Line]
	from := strings.LastIndexByte(line[:at.Character], ' ') + 1
	word, _, _ := strings.Cut(line[from:], " ")
	for n, l := range lines {
		if i := strings.Index(l, word); word != "" && i >= 0 {
			place := lsp.Position{Line: n, Character: i}
			return []lsp.Location{{URI: uri, Range: lsp.Range{Start: place, End: place}}}
		}
	}
	return nil
}
