package harness_test

// A scenario is what a model does, one step after the other, in a repository with a.txt, b.txt
// and sub/s.txt. In its texts {tmp} is where names in /tmp begin that nobody has, {port} a port
// and {pid} a process of another program, and {free} a port on which nobody listens.
type scenario struct {
	name, setup string
	steps       []string
	want, says  string // how it ends, and what the first line of the step that differs has
	probe, kept string // a command that looks afterwards, instead of at git; what it prints if not all was done
	known       string // why it is a lie still
}

var scenarios = []scenario{
	{name: "a line is replaced", steps: []string{"sed -i s/two/2/ b.txt && cat b.txt"}, want: same},
	{name: "a file grows in a loop", steps: []string{"for i in 1 2 3; do echo $i >> log; done; wc -l < log", "tail -1 log"}, want: same},
	{name: "files are moved and copied", steps: []string{"mkdir -p out/deep && mv a.txt out/deep/ && cp -r sub out/ && find out -type f | sort"}, want: same},
	{name: "names with blanks and umlauts", steps: []string{"echo ü > 'ä b.txt'; ls", "cat 'ä b.txt'"}, want: same},
	{name: "a large hole", steps: []string{"truncate -s 1M big; stat -c %s big"}, want: same},
	{name: "a pipe with a name", steps: []string{"mkfifo p; (echo through > p &); cat p"}, want: same},
	{name: "both outputs and a code", steps: []string{"echo a; echo b >&2; echo c; exit 3"}, want: same},
	{name: "variables end with their command", steps: []string{"export X=1; echo $X", "echo ${X-unset}"}, want: same},

	{name: "cd stays", steps: []string{"cd sub && pwd", "cat s.txt"}, want: same},
	{name: "cd into a new folder", steps: []string{"mkdir -p n/m && cd n/m", "touch here; pwd"}, want: same},
	{name: "cd before a failure", steps: []string{"cd sub; false", "ls"}, want: same},
	{name: "cd in a subshell", steps: []string{"(cd sub && ls)", "ls"}, want: same},

	{name: "modes", steps: []string{"chmod 640 a.txt; chmod +x b.txt; umask 077; echo k > private; stat -c '%a %n' *.txt private"}, want: same},
	{name: "a new program", steps: []string{`printf '#!/bin/sh\necho ran $1\n' > run.sh; chmod 755 run.sh`, "./run.sh x"}, want: same},
	{name: "an old time", steps: []string{"touch -d 2001-02-03 a.txt; [ b.txt -nt a.txt ] && echo stale", "[ a.txt -nt b.txt ] || echo older"}, want: same},
	{name: "touch makes stale", setup: "touch -d 2020-01-01 in; touch -d 2021-01-01 out",
		steps: []string{"[ in -nt out ] || echo fresh", "touch in", "[ in -nt out ] && echo stale"}, want: same},
	{name: "times are copied", setup: "touch -d 2019-05-06 old.txt", steps: []string{"cp -a old.txt copy.txt; touch -r old.txt b.txt; stat -c '%Y %n' copy.txt b.txt"}, want: same},
	{name: "an edit is newer than what was built", steps: []string{"cp b.txt built", "sleep 0.3; sed -i s/one/1/ b.txt", "[ b.txt -nt built ] && echo stale"}, want: same},
	{name: "links", steps: []string{"ln -s a.txt l; ln a.txt hard; readlink l; stat -c %h a.txt", "cat l hard"}, want: same},
	{name: "a file with two names is changed", setup: "ln a.txt hard", steps: []string{"echo more >> hard; cat a.txt"}, want: refused, says: "hard links", probe: "cat a.txt", kept: "hello\n"},
	{name: "links to folders and to nothing", steps: []string{"ln -s nowhere gone; ln -sfn sub dir; ls dir/; cat gone"}, want: same},

	{name: "a commit", steps: []string{"echo x > new && git add new && git commit -qm second && git log --format=%s"}, want: same},
	{name: "a stash", steps: []string{"echo x >> a.txt; git stash -q; cat a.txt", "git stash pop -q; cat a.txt"}, want: same},
	{name: "a stash that stays", steps: []string{"echo x >> a.txt; git stash -q; git stash list | wc -l"}, want: same},
	{name: "a branch that is merged", steps: []string{"git switch -qc topic && echo t > t && git add t && git commit -qm topic", "git switch -q main && ls", "git merge -q --no-edit topic && ls"}, want: same},
	{name: "a conflict", setup: "git switch -qc other; echo o > a.txt; git commit -qam o; git switch -q main; echo m > a.txt; git commit -qam m",
		steps: []string{"git merge other", "git status --short", "git merge --abort; cat a.txt"}, want: same},
	{name: "a file is restored", steps: []string{"rm a.txt; git restore a.txt; cat a.txt"}, want: same},
	{name: "a folder of git is removed", steps: []string{"rm -r sub; git status --short"}, want: same},
	{name: "an ignored folder is removed", setup: "echo build > .gitignore; mkdir -p build/x; echo 1 > build/x/o", steps: []string{"rm -rf build; ls", "ls build"}, want: same},
	{name: "a branch is renamed and removed", steps: []string{"git branch one; git branch -m one two; git branch; git branch -d two", "git config --get-regexp branch; git branch"}, want: same},
	{name: "a remote is added and tracked", setup: "git init -q --bare ~/there", steps: []string{"git remote add up ~/there && git config branch.main.remote up && git config branch.main.merge refs/heads/main", "git remote -v; git config --list --local | grep branch"}, want: same},
	{name: "a setting that runs a program", steps: []string{"git config core.fsmonitor ./evil; true"}, want: refused, says: ".git/config", probe: "git config core.fsmonitor", kept: ""},
	{name: "a merge, and then what it changed", setup: "git switch -qc f; echo f > f.txt; git add f.txt; git commit -qm f; git switch -q main",
		steps: []string{"git merge -q f; git status; git diff | head", "git show --stat HEAD | tail -1; cd sub && git diff"}, want: same},
	{name: "a clone and a work tree inside", steps: []string{"git clone -q . copy && ls copy", "git worktree add -q wt -b w && git worktree list | wc -l"}, want: same},
	{name: "a commit is taken back in a clean work tree", setup: "echo n > n; git add n; git commit -qm n", steps: []string{"git reset -q --hard HEAD~1; ls"}, want: same},
	{name: "lines that are written over", steps: []string{`printf '1/3\r2/3\r3/3\rdone\n'`}, want: same},
	{name: "a cache is removed", setup: "mkdir -p pkg/__pycache__ .pytest_cache; echo x > pkg/__pycache__/a.pyc", steps: []string{"rm -rf pkg/__pycache__ .pytest_cache; ls -A pkg", "ls -A . pkg"}, want: same},
	{name: "a folder is renamed", steps: []string{"mv sub other && cat other/s.txt", "ls"}, want: same},
	{name: "a folder of mktemp is removed by its variable", steps: []string{`d=$(mktemp -d) && echo v > "$d/f" && cat "$d/f" && rm -rf "$d"; ls "$d" 2>/dev/null | wc -l`}, want: same},
	{name: "a socket of a job in scratch", steps: []string{
		`background: exec perl -MIO::Socket::UNIX -e 'alarm 20; $s = IO::Socket::UNIX->new(Local => "{tmp}sock", Listen => 5) or die; while ($c = $s->accept) { print $c "served\n"; close $c }'`,
		`until [ -S {tmp}sock ]; do sleep 0.02; done; perl -MIO::Socket::UNIX -e 'print IO::Socket::UNIX->new(Peer => "{tmp}sock")->getline'`}, want: same},
	{name: "ports are listed", steps: []string{`perl -e 'socket(S, 16, 3, 4) and print "listed\n"'`}, want: told, says: "ports"},
	{name: "work is thrown away", setup: "echo work >> a.txt", steps: []string{"git reset -q --hard"}, want: refused, probe: "tail -1 a.txt", kept: "work\n"},
	{name: "commits are sent", setup: "git init -q --bare ~/there; git remote add origin ~/there", steps: []string{"git push -q origin main"}, want: refused,
		probe: "git -C ~/there branch", kept: ""},

	{name: "scratch is read by another command", steps: []string{"echo s > {tmp}note", "cat {tmp}note", "read: {tmp}note"}, want: same},
	{name: "a folder of mktemp", steps: []string{"d=$(mktemp -d {tmp}XXXXXX) && echo v > $d/f", "cat {tmp}*/f", "rm -r {tmp}*; ls {tmp}*"}, want: same},
	{name: "mktemp of one command", steps: []string{"f=$(mktemp) && echo v > $f && cat $f && rm $f"}, want: same},
	{name: "a script in scratch", steps: []string{"echo 'echo from scratch > made' > {tmp}run", "bash {tmp}run; cat made; rm {tmp}run"}, want: same},
	{name: "scratch of a job", steps: []string{"background: echo ready > {tmp}job; exec sleep 20", "until [ -e {tmp}job ]; do sleep 0.02; done; cat {tmp}job"}, want: same},
	{name: "what others have in tmp is read", setup: "echo theirs > {tmp}f", steps: []string{"cat {tmp}f"}, want: same},
	{name: "what others have in tmp is changed", setup: "echo theirs > {tmp}f", steps: []string{"echo mine >> {tmp}f"}, want: refused, says: "{tmp}f", probe: "cat {tmp}f", kept: "theirs\n"},
	{name: "what others have in tmp is removed", setup: "mkdir {tmp}d; echo theirs > {tmp}d/f", steps: []string{"rm -rf {tmp}d; true"}, want: refused, says: "{tmp}d", probe: "cat {tmp}d/f", kept: "theirs\n"},

	{name: "a server of the session", steps: []string{
		`background: exec perl -MIO::Socket::INET -e 'alarm 20; $s = IO::Socket::INET->new(LocalAddr => "127.0.0.1", LocalPort => {free}, Listen => 5) or die; open F, ">", "ready"; close F; while ($c = $s->accept) { print $c "served\n"; close $c }'`,
		"until [ -e ready ]; do sleep 0.02; done; exec 3<>/dev/tcp/127.0.0.1/{free} && cat <&3"}, want: same},
	{name: "a server of another program", steps: []string{"exec 3<>/dev/tcp/127.0.0.1/{port} && cat <&3"}, want: refused, says: "localhost:{port}"},
	{name: "a server of another program, quietly", steps: []string{"(exec 3<>/dev/tcp/127.0.0.1/{port}) 2>/dev/null && echo up || echo down"}, want: told, says: "localhost:{port}"},
	{name: "a port of another program is taken", steps: []string{`perl -MIO::Socket::INET -e 'print IO::Socket::INET->new(LocalAddr => "127.0.0.1", LocalPort => {port}, Listen => 5) ? "free\n" : "used\n"'`}, want: told, says: "port {port}"},
	{name: "a free port is taken", steps: []string{`perl -MIO::Socket::INET -e 'print IO::Socket::INET->new(LocalAddr => "127.0.0.1", LocalPort => {free}, Listen => 5) ? "free\n" : "used\n"'`}, want: same},
	{name: "something is left running", steps: []string{"nohup sleep 4322 >/dev/null 2>&1 & echo ok"}, want: told, says: "sleep", probe: "true"},
	{name: "a port without a server", steps: []string{"exec 3<>/dev/tcp/127.0.0.1/{free} && cat <&3"}, want: same},
	{name: "a name that is not there", steps: []string{"exec 3<>/dev/tcp/haft.invalid/80 && cat <&3"}, want: dependsOnMachine, says: "Not reached: "},

	{name: "a file beside the project", setup: "rm -f ../beside", steps: []string{"echo x > ../beside"}, want: refused, says: "beside", probe: "ls ../beside 2>&1 | wc -l; cat ../beside 2>/dev/null", kept: "1\n"},
	{name: "a file in the home folder", steps: []string{"echo x > ~/mine"}, want: refused, says: "mine", probe: "ls ~", kept: ""},
	{name: "a file in the home folder, by a program", steps: []string{`perl -e 'open F, ">", "$ENV{HOME}/mine" or die "$ENV{HOME}/mine: $!"'`}, want: refused, probe: "ls ~", kept: ""},
	{name: "a file in the home folder, quietly", steps: []string{"{ echo x > ~/mine; } 2>/dev/null; echo went on"}, want: refused, says: "mine", probe: "ls ~", kept: ""},
	{name: "a file in the home folder, by a link", setup: "echo theirs > ~/real; ln -s ~/real l", steps: []string{"(echo mine > l) 2>/dev/null; echo went on"}, want: refused, says: "real", probe: "cat ~/real", kept: "theirs\n"},
	{name: "a file in the home folder, by a program that goes on", steps: []string{`perl -e 'open F, ">", "$ENV{HOME}/mine"; print "went on\n"'`}, want: refused, says: "mine", probe: "ls ~", kept: ""},
	{name: "a file is moved to the home folder", steps: []string{"mv a.txt ~/mine 2>/dev/null; ls"}, want: refused, says: "mine", probe: "ls ~; cat a.txt", kept: "hello\n"},
	{name: "a file of another program is appended to, quietly", setup: "echo theirs > {tmp}f", steps: []string{"(echo mine >> {tmp}f) 2>/dev/null; echo went on"}, want: refused, says: "{tmp}f", probe: "cat {tmp}f", kept: "theirs\n"},
	{name: "a file of another program is removed, quietly", setup: "echo theirs > {tmp}f", steps: []string{"rm -f {tmp}f 2>/dev/null; echo went on"}, want: refused, says: "{tmp}f", probe: "cat {tmp}f", kept: "theirs\n"},
	{name: "keys are changed, quietly", setup: "mkdir -p d; echo K=1 > d/.env", steps: []string{`perl -e 'chdir "d"; open F, ">", ".env" and print F "K=2"; print "went on\n"'`}, want: refused, says: ".env", probe: "cat d/.env", kept: "K=1\n"},
	{name: "a folder with keys is moved", setup: "mkdir -p d; echo K=1 > d/.env", steps: []string{"mv d e 2>/dev/null; ls"}, want: refused, says: "d", probe: "cat d/.env", kept: "K=1\n"},
	{name: "a process of another program is seen", steps: []string{"test -d /proc/{pid} && cat /proc/{pid}/comm; true"}, want: same},
	{name: "processes are looked for", steps: []string{`perl -e 'for (glob "/proc/[0-9]*/cmdline") { open F, $_ or next; print "found\n" if <F> =~ /sleep.4321/ }'`}, want: same},
	{name: "keys are written", steps: []string{"echo K=1 > .env"}, want: refused, says: ".env", probe: "ls -A", kept: ".git\na.txt\nb.txt\nsub\n"},
	{name: "keys are changed by a program", setup: "echo K=1 > .env", steps: []string{`perl -i -pe s/1/2/ .env`}, want: refused, says: ".env", probe: "cat .env", kept: "K=1\n"},
	{name: "a hook of git", steps: []string{"echo exit 1 > .git/hooks/pre-commit"}, want: refused, says: "hooks", probe: "ls .git/hooks/pre-commit 2>/dev/null", kept: ""},
	{name: "settings of agents", steps: []string{"mkdir -p .claude && echo '{}' > .claude/settings.json"}, want: refused, says: ".claude", probe: "cat .claude/settings.json 2>/dev/null", kept: ""},

	{name: "a test that prints of connections", setup: `printf 'echo "--- FAIL: dial tcp 127.0.0.1:5432: connect: connection refused"\nexit 1\n' > t.sh`, steps: []string{"sh t.sh"}, want: same},
	{name: "a test that prints of rights", setup: `printf 'echo "want: operation not permitted, no such process"\nexit 1\n' > t.sh`, steps: []string{"sh t.sh; echo code $?"}, want: same},
	{name: "what was printed before a time-out", steps: []string{"within a second: echo begun; touch begun; sleep 30"}, want: same},

	{name: "another program is ended", steps: []string{"kill {pid}"}, want: refused, says: "{pid}", probe: "kill -0 {pid} && echo lives", kept: "lives\n"},
	{name: "another program is ended, quietly", steps: []string{"kill {pid} 2>/dev/null; echo code $?"}, want: told, says: "{pid}", probe: "kill -0 {pid} && echo lives", kept: "lives\n"},
	{name: "an own process has ended", steps: []string{"true & wait $!; kill $! 2>/dev/null; echo $?"}, want: same},
	{name: "an own process is ended", steps: []string{"sleep 100 & until [ \"$(cat /proc/$!/comm)\" = sleep ]; do :; done; kill $!; wait $! 2>/dev/null; echo $?"}, want: same},
}
