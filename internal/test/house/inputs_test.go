package house

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/haftdev/haft/internal/tools/builtin"
	"github.com/haftdev/haft/tool"
)

// inputReaders are the functions outside tools that read an input, each with the reason
// why it knows no field of any tool.
var inputReaders = map[string]string{
	". call":                               "the input of a hook that the program has, not of a tool",
	". InputOf":                            "a program reads the input of a call in another process; a test holds its types against the tools",
	". ReadInput":                          "is what InputOf returns",
	". EditInput":                          "is what InputOf returns",
	". WriteInput":                         "is what InputOf returns",
	"agent answer":                         "is itself the tool that takes a structured answer",
	"agent object":                         "makes sure that an input is an object before it goes to a provider",
	"hook InstructionsLoaded":              "is the input of a hook about a file of instructions, not of a call",
	"internal/front/card fields":           "shows every field of a call in another process, whose tools are not at hand",
	"internal/front/card told":             "shows every field except those that the harness adds",
	"internal/world/mcp/serve fields":      "shows every field in the question to a client",
	"internal/guard/permission newSubject": "rules name parameters in words of the user; no field is known here",
}

// commonFields are also called so where they have nothing to do with an input.
var commonFields = []string{"duration_ms"}

// TestOnlyAToolReadsItsInput keeps what a call is about where it is known: in the tool.
// Code that decodes an input elsewhere is wrong about the next tool, and about the same
// tool after the next change.
func TestOnlyAToolReadsItsInput(t *testing.T) {
	fields := inputFields(t)
	if !fields["file_path"] || !fields["old_string"] || fields["command"] {
		t.Fatalf("the fields of the built-in tools: %v", fields)
	}
	tools := matcher("./tool/... ./internal/tools/... ./internal/test/changetest")
	used := map[string]bool{}
	var findings []string
	for _, p := range allPackages(t) {
		if tools("./" + p.dir) {
			continue
		}
		for _, file := range p.files {
			for _, f := range inputReads(file, fields) {
				if key := p.dir + " " + f.in; inputReaders[key] != "" {
					used[key] = true
					continue
				}
				findings = append(findings, p.at(f.node, "%s in %s", f.what, f.in))
			}
		}
	}
	for key := range inputReaders {
		if !used[key] {
			findings = append(findings, "inputReaders: "+key+" reads no input any more")
		}
	}
	slices.Sort(findings)
	report(t, findings, "Ask the tool: Tool.Paths, Preview, Command and Address, or a function of its package.")
}

// inputFields are the names that only an input of a built-in tool has: words joined by
// an underscore. Others, such as command and path, are everywhere.
func inputFields(t *testing.T) map[string]bool {
	t.Helper()
	fields := map[string]bool{}
	set := tool.NewSet(&tool.Session{Interactive: true}, builtin.Unattached(), nil, nil)
	for _, tl := range set.All() {
		var s struct {
			Properties map[string]json.RawMessage `json:"properties"`
		}
		if err := json.Unmarshal(set.View(tl).JSON(), &s); err != nil {
			t.Fatal(err)
		}
		for name := range s.Properties {
			if strings.Contains(name, "_") && !slices.Contains(commonFields, name) {
				fields[name] = true
			}
		}
	}
	return fields
}

// An inputRead is a place that reads the input of a call.
type inputRead struct {
	node ast.Node
	in   string // the function, or type, around it
	what string
}

// inputReads returns the places where a file decodes something called an input, and
// where it names a field of one in order to read it.
func inputReads(file *ast.File, fields map[string]bool) []inputRead {
	var out []inputRead
	for _, decl := range file.Decls {
		in := declared(decl)
		ast.Inspect(decl, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CallExpr:
				if decodesInput(n) {
					out = append(out, inputRead{n, in, "decodes an input"})
				}
			case *ast.Field:
				if name := jsonName(n); fields[name] {
					out = append(out, inputRead{n, in, "decodes the field " + name})
				}
			case *ast.IndexExpr:
				if name := literal(n.Index); fields[name] {
					out = append(out, inputRead{n, in, "looks up the field " + name})
				}
			case *ast.CompositeLit:
				for _, e := range n.Elts { // of a list; the keys of an object that is made are no reading
					if name := literal(e); fields[name] {
						out = append(out, inputRead{e, in, "names the field " + name})
					}
				}
			}
			return true
		})
	}
	return out
}

func declared(decl ast.Decl) string {
	switch d := decl.(type) {
	case *ast.FuncDecl:
		return d.Name.Name
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.TypeSpec:
				return s.Name.Name
			case *ast.ValueSpec:
				return s.Names[0].Name
			}
		}
	}
	return "?"
}

// decodesInput reports whether a call decodes JSON that is called an input.
func decodesInput(call *ast.CallExpr) bool {
	fun, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || len(call.Args) == 0 {
		return false
	}
	from, _ := fun.X.(*ast.Ident)
	if from == nil || from.Name != "json" || fun.Sel.Name != "Unmarshal" && fun.Sel.Name != "NewDecoder" {
		return false
	}
	found := false
	ast.Inspect(call.Args[0], func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && (strings.EqualFold(id.Name, "input") || id.Name == "ToolInput") {
			found = true
		}
		return true
	})
	return found
}

// literal is the value of a string that is written down; "" for anything else.
func literal(e ast.Expr) string {
	lit, ok := e.(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return ""
	}
	s, _ := strconv.Unquote(lit.Value)
	return s
}

func jsonName(f *ast.Field) string {
	if f.Tag == nil {
		return ""
	}
	name, _, _ := strings.Cut(reflect.StructTag(literal(f.Tag)).Get("json"), ",")
	return name
}

func TestAnInputThatIsReadIsFound(t *testing.T) {
	const source = `package p
type in struct { File string ` + "`json:\"file_path,omitempty\"`" + `; Command string ` + "`json:\"command\"`" + ` }
func f(c Call) { json.Unmarshal(c.Call.Input, &v) }
func g(input []byte) { json.NewDecoder(bytes.NewReader(input)).Decode(&v) }
func h(m map[string]any) any { return m["file_path"] }
var names = []string{"file_path"}
func ok(c Call) { json.Unmarshal(c.Output, &v); use(c.Input); m := map[string]any{"file_path": ""}; _ = m["other"] }
`
	file, err := parser.ParseFile(token.NewFileSet(), "p.go", source, parseMode)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range inputReads(file, map[string]bool{"file_path": true}) {
		got = append(got, f.in+": "+f.what)
	}
	want := []string{"in: decodes the field file_path", "f: decodes an input", "g: decodes an input", "h: looks up the field file_path", "names: names the field file_path"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}
