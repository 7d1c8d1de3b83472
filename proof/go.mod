module github.com/redlatch/redlatch/proof

go 1.26.0
