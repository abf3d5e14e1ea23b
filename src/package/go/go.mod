module sampling

go 1.19
