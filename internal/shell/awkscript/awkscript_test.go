package awkscript_test

import (
	"testing"

	"github.com/haftdev/haft/internal/shell/awkscript"
)

func TestFilters(t *testing.T) {
	for _, program := range []string{
		"1", "{print}", "{print $1}", "NR>1 {s+=$3} END {print s}", "$3 > 7", "length > 40", `BEGIN {printf "%d\n", 3*7}`, "{a[$1]++} END {for (k in a) print k, a[k]}",
		"/w > x/", "/a|b/ {print $2}", `$0 ~ /system/ {print "a | b > c"}`, `{print ($1 > 5)}`, `{ if ($1 > 5) print $2 }`, "NR==1 || NR==3", "NR%2==0 && /x/",
		"!seen[$0]++", `{print $1/$2}`, "# comment | > system\n{print}", `{print substr($0, 2)}`, "{print (1>2)(3)}", `{gsub(/[^a-z]/, ""); print toupper($0)}`,
		`/[[:alpha:]]/ {print}`, `/^[^[:space:]_]+$/`, `/[]a]/`, `/[^]]/ {print "x/y"}`, `/[[.a.]b]/`, `/\/[ab]\//`,
		`BEGIN{FS=","} {print $2}`, `{print $1; if (x > 3) y = 2}`, "{print a/b/c}", "$1 > 3 {print} $2 > 3", `{ print $1 } END { if (n > 2) print n }`,
	} {
		if err := awkscript.Check(program); err != nil {
			t.Errorf("%q: %v, want it accepted", program, err)
		}
	}
}

func TestOthersAreRefused(t *testing.T) {
	for _, program := range []string{
		`BEGIN{system("x")}`, `BEGIN{system ("x")}`, `BEGIN{"x" | getline}`, `BEGIN{print "x" | "tee y"}`, `BEGIN{print "x" >> "y"}`, `{print $1 > 5}`, `{printf "%s", $1 > "y"}`,
		`{getline}`, `{getline x < ".env"}`, `BEGIN{print ENVIRON["HOME"]}`, `BEGIN{f="x"; @f()}`, `@load "x"`, `BEGIN{print "x" |& "y"}`, `{print (1)(2) > "y"}`, `{print(1) > "y"}`,
		`{print $1, (2 > 1) > "y"}`, `{print "a` + "\n" + `b"}`, `{print "a}`, `/a`, `/[/]/ {print}`, `BEGIN{ARGV[1]=".env"}`, `{ if (x) print $1 > "y" }`, `{print a[1] > "y"}`, "{print 1,\n2 > \"y\"}", "{print a &&\nb > \"y\"}", `a++ /x"/ || system("y") || "/"`, `(x) / y"/ ; system("z") #"`, "{print \\\n> \"y\"}", "{x `ls`}", `{print > "y"}`, `BEGIN{while(1) print}`, `BEGIN{for(;;) print}`, `{print>"y"}`, `{ while (1) print > "x" }`,
		`{print {1} > "y"}`, `!/[[:alpha:]/] "/ { system("x") } #" {}`, `!/[a[:alpha:]/] "/ { system("x") } #" {}`, `!/[[.a.]/] "/ { system("x") } #" {}`, `!/[^[:alpha:]/] "/ { "x" | getline } #" {}`,
		`!/[]/] "/ { system("x") } #" {}`, `!/[\]/] "/ { system("x") } #" {}`, `!/[a-[:digit:]/] "/ { system("x") } #" {}`, `!/[^]/] "/ { system("x") } #" {}`,
	} {
		if err := awkscript.Check(program); err == nil {
			t.Errorf("%q: accepted, want it refused", program)
		}
	}
}

func FuzzCheck(f *testing.F) {
	f.Add(`{print $1 > 5}`)
	f.Add(`/a/ {x = 3 / 2}`)
	f.Fuzz(func(t *testing.T, program string) {
		_ = awkscript.Check(program)
		if awkscript.Check(program+"\nBEGIN{system(1)}") == nil && awkscript.Check(program) == nil {
			t.Errorf("%q hides a call of system after it", program)
		}
	})
}
