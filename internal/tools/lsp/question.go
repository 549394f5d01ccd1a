package lsp

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf16"

	"github.com/haftdev/haft/internal/sys/pathin"
	"github.com/haftdev/haft/internal/text/plural"
	"github.com/haftdev/haft/internal/text/shorten"
	"github.com/haftdev/haft/internal/world/lsp"
	"github.com/haftdev/haft/tool"
)

// A question is one call.
type question struct {
	tools  *Tools
	client *lsp.Client
	in     Input
	path   string
	dir    string
	lines  map[string][]string // of files that were shown
}

func (q *question) answer(ctx context.Context) (callOutput, error) {
	switch q.in.Operation {
	case "documentSymbol":
		found, err := q.client.Symbols(ctx, q.path)
		return q.declared(found), err
	case "workspaceSymbol":
		return q.findSymbols(ctx)
	case "diagnostics":
		return q.diagnose(ctx)
	}
	at, err := q.position()
	if err != nil {
		return callOutput{}, err
	}
	switch q.in.Operation {
	case "hover":
		text, err := q.client.Hover(ctx, q.path, at)
		if err != nil || strings.TrimSpace(text) == "" {
			return q.nothing("No information was found"), err
		}
		return callOutput{Result: strings.TrimSpace(text), Count: 1, Files: 1}, nil
	case "prepareCallHierarchy", "incomingCalls", "outgoingCalls":
		return q.hierarchy(ctx, at)
	}
	ask := map[string]func(context.Context, string, lsp.Position) ([]lsp.Location, error){
		"goToDefinition": q.client.Definition, "goToImplementation": q.client.Implementation, "findReferences": q.client.References,
	}[q.in.Operation]
	found, err := ask(ctx, q.path, at)
	if err != nil {
		return callOutput{}, err
	}
	noun := map[string]string{"goToDefinition": "definition", "goToImplementation": "implementation", "findReferences": "reference"}[q.in.Operation]
	if len(found) == 0 {
		return q.nothing("No " + noun + " was found"), nil
	}
	return q.places(noun, found), nil
}

// position is the place that the model means, as the protocol counts it.
func (q *question) position() (lsp.Position, error) {
	text, err := q.client.Text(q.path)
	if err != nil {
		return lsp.Position{}, err
	}
	lines := strings.Split(text, "\n")
	q.lines[q.path] = lines
	if q.in.Line > len(lines) {
		return lsp.Position{}, tool.Errorf("%s has only %s, but line is %d. Give a line that the file has.", q.path, plural.Of(len(lines), "line"), q.in.Line)
	}
	runes := []rune(lines[q.in.Line-1])
	before := runes[:min(q.in.Character-1, len(runes))]
	return lsp.Position{Line: q.in.Line - 1, Character: len(utf16.Encode(before))}, nil
}

// nothing says that there is nothing at a place, and where in the line names are:
// columns are easily counted wrong.
func (q *question) nothing(what string) callOutput {
	text := fmt.Sprintf("%s for line %d, character %d.", what, q.in.Line, q.in.Character)
	if lines := q.lines[q.path]; q.in.Line <= len(lines) {
		var names []string
		for _, n := range namesIn(lines[q.in.Line-1]) {
			names = append(names, fmt.Sprintf("%s at %d", n.text, n.column))
		}
		if len(names) > 0 {
			const most = 20
			text += " The line has these names: " + strings.Join(names[:min(len(names), most)], ", ") + "."
		} else {
			text += " The line has no names."
		}
	}
	return callOutput{Result: text}
}

// What is shown of much.
const (
	maxPlaces = 200
	maxLine   = 200 // characters of a line of code
)

// places lists locations, file by file, each with its line.
func (q *question) places(noun string, found []lsp.Location) callOutput {
	slices.SortFunc(found, func(a, b lsp.Location) int {
		return cmp.Or(strings.Compare(a.URI, b.URI), cmp.Compare(a.Range.Start.Line, b.Range.Start.Line), cmp.Compare(a.Range.Start.Character, b.Range.Start.Character))
	})
	found = slices.Compact(found)
	var b strings.Builder
	files, hidden, shown := map[string]bool{}, 0, 0
	for _, l := range found {
		path := l.Path()
		if path == "" || !q.tools.opts.Show(path) {
			hidden++
			continue
		}
		if files[path] = true; shown < maxPlaces {
			shown++
			fmt.Fprintf(&b, "%s\n", q.place(path, l.Range.Start))
		}
	}
	out := callOutput{Count: len(found) - hidden, Files: len(files)}
	head := fmt.Sprintf("%s in %s:\n", plural.Of(out.Count, noun), plural.Of(out.Files, "file"))
	if more := out.Count - shown; more > 0 {
		fmt.Fprintf(&b, "… [%d more]\n", more)
	}
	if hidden > 0 {
		fmt.Fprintf(&b, "%s not shown: in files that may not be read.\n", plural.Of(hidden, noun))
	}
	out.Result = strings.TrimRight(head+b.String(), "\n")
	return out
}

// place names a place with its line of code.
func (q *question) place(path string, at lsp.Position) string {
	line := q.line(path, at.Line)
	text := fmt.Sprintf("%s:%d:%d", q.name(path), at.Line+1, column(line, at.Character))
	if trimmed := strings.TrimSpace(line); trimmed != "" {
		text += ": " + shorten.To(trimmed, maxLine)
	}
	return text
}

// name is how a file is called where the agent works.
func (q *question) name(path string) string {
	if rest, ok := pathin.Below(q.dir, path); ok && rest != "" {
		return rest
	}
	return path
}

// line returns a line of a file that may be shown; "" if there is none.
func (q *question) line(path string, n int) string {
	lines, ok := q.lines[path]
	if !ok {
		const most = 4 << 20
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Size() <= most {
			if raw, err := os.ReadFile(path); err == nil {
				lines = strings.Split(strings.ToValidUTF8(string(raw), "\uFFFD"), "\n")
			}
		}
		q.lines[path] = lines
	}
	if n < 0 || n >= len(lines) {
		return ""
	}
	return strings.TrimRight(lines[n], "\r")
}

// column turns UTF-16 code units, counted from 0, into characters, counted from 1.
func column(line string, units int) int {
	encoded := utf16.Encode([]rune(line))
	return len(utf16.Decode(encoded[:min(max(units, 0), len(encoded))])) + max(units-len(encoded), 0) + 1
}

// declared lists what a file declares, as a tree.
func (q *question) declared(found []lsp.Symbol) callOutput {
	var b strings.Builder
	out := callOutput{Files: 1}
	var list func([]lsp.Symbol, int)
	list = func(symbols []lsp.Symbol, depth int) {
		for _, s := range symbols {
			if out.Count++; out.Count > maxPlaces*5 || depth > 20 {
				continue
			}
			whole := s.Whole()
			lines := fmt.Sprint(whole.Start.Line + 1)
			if whole.End.Line > whole.Start.Line {
				lines += fmt.Sprintf("-%d", whole.End.Line+1)
			}
			at := s.Place().Start
			fmt.Fprintf(&b, "%s%s %s (%s; name at %d:%d)\n", strings.Repeat("  ", depth), s.KindName(), shorten.To(s.Name, maxLine), lines, at.Line+1, column(q.line(q.path, at.Line), at.Character))
			list(s.Children, depth+1)
		}
	}
	list(found, 0)
	if out.Count == 0 {
		out.Result = "The language server finds no declarations in the file."
		return out
	}
	out.Result = fmt.Sprintf("%s in %s, with their lines:\n%s", plural.Of(out.Count, "symbol"), q.name(q.path), strings.TrimRight(b.String(), "\n"))
	if more := out.Count - maxPlaces*5; more > 0 {
		out.Result += fmt.Sprintf("\n… [%d more]", more)
	}
	return out
}

// findSymbols looks for names in the project: those like the query, or the one at the
// place.
func (q *question) findSymbols(ctx context.Context) (callOutput, error) {
	query := q.in.Query
	if query == "" && q.in.Line > 0 && q.in.Character > 0 {
		if _, err := q.position(); err != nil {
			return callOutput{}, err
		}
		for _, n := range namesIn(q.lines[q.path][q.in.Line-1]) {
			if n.column <= q.in.Character && q.in.Character <= n.column+len([]rune(n.text)) {
				query = n.text
			}
		}
	}
	found, err := q.client.Find(ctx, q.path, query)
	if err != nil {
		return callOutput{}, err
	}
	var b strings.Builder
	out, files, shown := callOutput{}, map[string]bool{}, 0
	for _, s := range found {
		path := s.Location.Path()
		if path == "" || !q.tools.opts.Show(path) {
			continue
		}
		out.Count++
		if files[path] = true; shown < maxPlaces {
			shown++
			name := shorten.To(s.Name, maxLine)
			if s.Container != "" && !strings.Contains(s.Name, ".") {
				name += " in " + shorten.To(s.Container, maxLine)
			}
			fmt.Fprintf(&b, "%s %s: %s\n", s.KindName(), name, q.place(path, s.Location.Range.Start))
		}
	}
	out.Files = len(files)
	if out.Count == 0 {
		out.Result = fmt.Sprintf("No symbol in the project has a name like %q.", query)
		return out, nil
	}
	if more := out.Count - shown; more > 0 {
		fmt.Fprintf(&b, "… [%d more: give a longer query]\n", more)
	}
	out.Result = fmt.Sprintf("%s in %s:\n%s", plural.Of(out.Count, "symbol"), plural.Of(out.Files, "file"), strings.TrimRight(b.String(), "\n"))
	return out, nil
}

// hierarchy lists what calls the function at a place, or what it calls.
func (q *question) hierarchy(ctx context.Context, at lsp.Position) (callOutput, error) {
	functions, err := q.client.Functions(ctx, q.path, at)
	if err != nil || len(functions) == 0 {
		return q.nothing("No function was found"), err
	}
	functions = functions[:min(len(functions), 10)]
	out, files := callOutput{}, map[string]bool{}
	var b strings.Builder
	add := func(f lsp.CallItem, calls string) {
		path := lsp.PathOf(f.URI)
		if path == "" || !q.tools.opts.Show(path) {
			return
		}
		files[path] = true
		if out.Count++; out.Count <= maxPlaces {
			fmt.Fprintf(&b, "%s %s: %s%s\n", f.KindName(), shorten.To(f.Name, maxLine), q.place(path, f.Selection.Start), calls)
		}
	}
	for _, f := range functions {
		switch q.in.Operation {
		case "prepareCallHierarchy":
			add(f, "")
			continue
		case "incomingCalls":
			calls, err := q.client.Callers(ctx, f)
			if err != nil {
				return callOutput{}, err
			}
			for _, call := range calls {
				add(call.From, linesOf(call.Ranges))
			}
		default:
			calls, err := q.client.Callees(ctx, f)
			if err != nil {
				return callOutput{}, err
			}
			for _, call := range calls {
				add(call.To, linesOf(call.Ranges))
			}
		}
	}
	out.Files = len(files)
	name := shorten.To(functions[0].Name, maxLine)
	head := map[string]string{
		"prepareCallHierarchy": plural.Of(out.Count, "function"), "incomingCalls": plural.Of(out.Count, "caller") + " of " + name, "outgoingCalls": plural.Of(out.Count, "function") + " that " + name + " calls",
	}[q.in.Operation]
	out.Result = head + "."
	if out.Count > 0 {
		out.Result = head + ":\n" + strings.TrimRight(b.String(), "\n")
	}
	if more := out.Count - maxPlaces; more > 0 {
		out.Result += fmt.Sprintf("\n… [%d more]", more)
	}
	return out, nil
}

// linesOf says in which lines the calls are.
func linesOf(calls []lsp.Range) string {
	const most = 20
	var lines []string
	for _, r := range calls[:min(len(calls), most)] {
		lines = append(lines, fmt.Sprint(r.Start.Line+1))
	}
	lines = slices.Compact(lines)
	noun := "lines"
	switch len(lines) {
	case 0:
		return ""
	case 1:
		noun = "line"
	}
	return " (calls in " + noun + " " + strings.Join(lines, ", ") + ")"
}

// maxDiagnose is how long a server may take to look for errors.
const maxDiagnose = 30 * time.Second

// diagnose lists what is wrong with the file.
func (q *question) diagnose(ctx context.Context) (callOutput, error) {
	list, whole, err := q.client.Diagnostics(ctx, q.path, maxDiagnose)
	if err != nil {
		return callOutput{}, err
	}
	if !whole {
		return callOutput{Result: fmt.Sprintf("%s did not report within %v. Try again later.", q.client.Name(), maxDiagnose)}, nil
	}
	q.tools.remember(q.path, list)
	out := callOutput{Count: len(list), Files: 1}
	if len(list) == 0 {
		out.Result = fmt.Sprintf("%s finds nothing wrong with %s.", q.client.Name(), q.name(q.path))
		return out, nil
	}
	out.Result = fmt.Sprintf("%s in %s:\n%s", plural.Of(len(list), "finding"), q.name(q.path), q.findings(list, maxPlaces))
	return out, nil
}

// findings lists diagnostics, the worst first.
func (q *question) findings(list []lsp.Diagnostic, most int) string {
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b lsp.Diagnostic) int {
		return cmp.Or(cmp.Compare(a.Severity, b.Severity), cmp.Compare(a.Range.Start.Line, b.Range.Start.Line))
	})
	var lines []string
	for _, d := range list[:min(len(list), most)] {
		at := d.Range.Start
		text := fmt.Sprintf("%s %d:%d: %s", d.Severity, at.Line+1, column(q.line(q.path, at.Line), at.Character), shorten.To(strings.ReplaceAll(strings.TrimSpace(d.Message), "\n", "\n  "), 500))
		lines = append(lines, text)
	}
	if more := len(list) - most; more > 0 {
		lines = append(lines, fmt.Sprintf("… [%d more]", more))
	}
	return strings.Join(lines, "\n")
}

// A name is an identifier in a line.
type name struct {
	text   string
	column int // counted from 1
}

func namesIn(line string) (names []name) {
	inName := func(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }
	runes := []rune(line)
	for i := 0; i < len(runes); i++ {
		if !inName(runes[i]) || unicode.IsDigit(runes[i]) {
			continue
		}
		from := i
		for i < len(runes) && inName(runes[i]) {
			i++
		}
		names = append(names, name{string(runes[from:i]), from + 1})
	}
	return names
}
