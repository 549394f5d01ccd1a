package wiretest_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/haftdev/haft/internal/test/golden"
	"github.com/haftdev/haft/wire"
	"github.com/haftdev/haft/wire/wiretest"
)

const (
	schemaFile = "../../docs/wire.schema.json"
	pageFile   = "../../docs/wire.md"
)

func TestSchemaIsCurrent(t *testing.T) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(wiretest.Schema(comments(t))); err != nil {
		t.Fatal(err)
	}
	golden.Check(t, schemaFile, b.String())
}

// comments returns the comments of package wire, by "Type" and "Type.Field".
func comments(t *testing.T) map[string]string {
	t.Helper()
	fset := token.NewFileSet()
	names, err := filepath.Glob("../*.go")
	if err != nil {
		t.Fatal(err)
	}
	var files []*ast.File
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(fset, name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	pkg, err := doc.NewFromFiles(fset, files, "github.com/haftdev/haft/wire", doc.PreserveAST)
	if err != nil {
		t.Fatal(err)
	}
	docs := map[string]string{}
	for _, typ := range pkg.Types {
		docs[typ.Name] = plain(typ.Doc)
		s, ok := typ.Decl.Specs[0].(*ast.TypeSpec).Type.(*ast.StructType)
		if !ok {
			continue
		}
		for _, f := range s.Fields.List {
			for _, name := range f.Names {
				docs[typ.Name+"."+name.Name] = plain(f.Doc.Text() + f.Comment.Text())
			}
		}
	}
	return docs
}

// plain is a comment on one line, without the marks of links.
func plain(comment string) string {
	comment = strings.NewReplacer("*[", "", "[", "", "]", "").Replace(comment)
	return strings.Join(strings.Fields(comment), " ")
}

// The page holds tables between these marks; the rest is written by hand.
const (
	tablesBegin = "<!-- tables: go test ./wire/wiretest -update -->\n"
	tablesEnd   = "<!-- end of tables -->\n"
)

func TestPageListsEverything(t *testing.T) {
	page, err := os.ReadFile(pageFile)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(page), tablesBegin)
	_, after, ok2 := strings.Cut(rest, tablesEnd)
	if !ok || !ok2 {
		t.Fatalf("%s has no marks for tables", pageFile)
	}
	docs := comments(t)
	var b strings.Builder
	b.WriteString("### Messages\n\n| on the wire | Go type | what it is |\n|---|---|---|\n")
	for _, k := range wire.Kinds() {
		name := reflect.TypeOf(k.New()).Elem().Name()
		fmt.Fprintf(&b, "| `%v` | `%s` | %s |\n", k.Tag, name, strings.TrimPrefix(docs[name], name+" "))
	}
	b.WriteString("\n### Control requests\n\n| on the wire | by | Go type | answer | what it does |\n|---|---|---|---|---|\n")
	for _, k := range wire.Requests() {
		name, answer := reflect.TypeOf(k.New()).Elem().Name(), "any object"
		if k.Reply != nil {
			answer = "`" + reflect.TypeOf(k.Reply).Name() + "`"
		}
		by := map[bool]string{true: "host", false: "CLI"}[k.ByHost]
		if k.ByHost && k.ByCLI {
			by = "both"
		}
		fmt.Fprintf(&b, "| `%s` | %s | `%s` | %s | %s |\n", k.Subtype, by, name, answer, strings.TrimPrefix(docs[name], name+" "))
	}
	golden.Check(t, pageFile, string([]byte(before+tablesBegin+b.String()+tablesEnd+after)))
}

func TestEverythingIsDescribed(t *testing.T) {
	docs := comments(t)
	for name := range wiretest.Schema(nil)["$defs"].(map[string]any) {
		if docs[name] == "" {
			t.Errorf("%s has no comment", name)
		}
	}
}
