module github.com/haftdev/haft

go 1.26
