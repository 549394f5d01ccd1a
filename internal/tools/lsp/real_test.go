package lsp_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/haftdev/haft/internal/test/needtest"
	"github.com/haftdev/haft/internal/tools/lsp"
)

// gopls is the version that the tests are held against.
const gopls = "golang.org/x/tools/gopls@v0.20.0"

var goProject = map[string]string{
	"go.mod": "module example.com/shop\n\ngo 1.24\n",
	"price.go": `package shop

// A Priced thing costs something.
type Priced interface{ Price() int }

// Book is a priced thing. 雪
type Book struct{ Cents int }

func (b Book) Price() int { return b.Cents }

// Total adds prices.
func Total(list []Priced) (sum int) {
	for _, p := range list {
		sum += p.Price()
	}
	return sum
}
`,
	"sub/use.go": `package sub

import "example.com/shop"

func Pay() int { /* 雪𝄞 */ return shop.Total([]shop.Priced{shop.Book{Cents: 3}}) }
`,
}

// TestGopls asks the real server everything that there is to ask.
func TestGopls(t *testing.T) {
	needtest.Program(t, "go")
	r := newRig(t, goProject, nil, filepath.Dir(needtest.Go(t, gopls)))
	for _, tt := range []struct{ operation, file, mark, want string }{
		{"goToDefinition", "sub/use.go", "Total", "1 definition in 1 file:\nprice.go:12:6: func Total(list []Priced) (sum int) {"},
		{"findReferences", "price.go", "Total(", "2 references in 2 files:\nprice.go:12:6: func Total(list []Priced) (sum int) {\nsub/use.go:5:39: func Pay()"},
		{"hover", "sub/use.go", "Total", "Total adds prices."},
		{"goToImplementation", "price.go", "Priced interface", "1 implementation in 1 file:\nprice.go:7:6: type Book struct"},
		{"documentSymbol", "price.go", "", "function Total (12-17; name at 12:6)"},
		{"prepareCallHierarchy", "price.go", "Total(", "1 function:\nfunction Total: price.go:12:6"},
		{"incomingCalls", "price.go", "Total(", "1 caller of Total:\nfunction Pay: sub/use.go:5:6: func Pay() int"},
		{"outgoingCalls", "price.go", "Total(", "1 function that Total calls:\nfunction Price: price.go:4:"},
		{"diagnostics", "price.go", "", "gopls finds nothing wrong with price.go."},
		{"hover", "price.go", "{ return b", "The line has these names: func at 1, b at 7, Book at 9, Price at 15, int at 23, return at 29, b at 36, Cents at 38."},
	} {
		if got := r.ask(t, tt.operation, tt.file, tt.mark); !strings.Contains(got, tt.want) {
			t.Errorf("%s at %q: got\n%s\nwant\n%s", tt.operation, tt.mark, got, tt.want)
		}
	}
	result, err := r.call(t.Context(), lsp.Input{Operation: "workspaceSymbol", FilePath: "price.go", Query: "Tot"})
	if err != nil || !strings.Contains(result.Text(), "price.go:12:6") {
		t.Errorf("got %v, %v", result, err)
	}
	t.Run("what changed on the disk is what is asked about", func(t *testing.T) {
		r.write(t, "new.go", "package shop\n\nfunc Sum() int { return Total(nil) }\n")
		if got := r.ask(t, "findReferences", "price.go", "Total("); !strings.Contains(got, "new.go:3:25") {
			t.Errorf("got %s", got)
		}
	})
	t.Run("an edit shows its errors", func(t *testing.T) {
		r.write(t, "new.go", "package shop\n\nfunc Sum() int { return Totl(nil) }\n")
		if got := r.tools.AfterEdit(t.Context(), r.dir, []string{"new.go"}); got != "gopls finds these errors in new.go:\nerror 3:25: undefined: Totl" {
			t.Errorf("got %q", got)
		}
		r.write(t, "new.go", "package shop\n\nfunc Sum() int { return Totl(nil) }\n\nvar x int = \"\"\n")
		got := r.tools.AfterEdit(t.Context(), r.dir, []string{"new.go"})
		if !strings.HasPrefix(got, "gopls finds these new errors in new.go:\nerror 5:13: ") || strings.Contains(got, "Totl") {
			t.Errorf("got %q", got)
		}
		r.write(t, "new.go", "package shop\n\nfunc Sum() int { return Total(nil) }\n")
		if got := r.tools.AfterEdit(t.Context(), r.dir, []string{"new.go", "go.sum", "other.txt"}); got != "" {
			t.Errorf("got %q", got)
		}
	})
}

// TestTypescriptLanguageServer does the same with a server that reports by itself.
func TestTypescriptLanguageServer(t *testing.T) {
	modules := needtest.NPM(t, "typescript-language-server@5.0.1", "typescript@5.9.3")
	r := newRig(t, map[string]string{
		"tsconfig.json": `{"compilerOptions":{"strict":true}}`,
		"price.ts":      "export interface Priced { price(): number }\nexport class Book implements Priced { price() { return 3 } }\n/** Adds prices. */\nexport function total(list: Priced[]): number { return list.reduce((s, p) => s + p.price(), 0) }\n",
		"use.ts":        "import { total, Book } from './price'\nexport const pay = () => total([new Book()])\n",
	}, nil, filepath.Join(modules, "node_modules", ".bin"))
	for _, tt := range []struct{ operation, file, mark, want string }{
		{"goToDefinition", "use.ts", "total([", "1 definition in 1 file:\nprice.ts:4:17: export function total"},
		{"findReferences", "price.ts", "total(", "use.ts:2:26: export const pay"},
		{"hover", "use.ts", "total([", "Adds prices."},
		{"goToImplementation", "price.ts", "Priced {", "price.ts:2:14"},
		{"documentSymbol", "price.ts", "", "function total (4; name at 4:17)"},
		{"incomingCalls", "price.ts", "total(", "pay: use.ts:2:14"},
		{"diagnostics", "use.ts", "", "typescript-language-server finds nothing wrong with use.ts."},
	} {
		if got := r.ask(t, tt.operation, tt.file, tt.mark); !strings.Contains(got, tt.want) {
			t.Errorf("%s at %q: got\n%s\nwant\n%s", tt.operation, tt.mark, got, tt.want)
		}
	}
	r.write(t, "use.ts", "import { total, Book } from './price'\nexport const pay: string = total([new Book()])\n")
	if got := r.tools.AfterEdit(t.Context(), r.dir, []string{"use.ts"}); got != "typescript-language-server finds these new errors in use.ts:\nerror 2:14: Type 'number' is not assignable to type 'string'." {
		t.Errorf("got %q", got)
	}
}
