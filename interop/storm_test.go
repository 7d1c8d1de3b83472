package interop_test

import (
	"github.com/redis/go-redis/v9"
	"io"
)

const workerVariable = "REDLATCH_INTEROP_WORKER"

func work(io.Reader) int { return 1 }

const redisNil = redis.Nil
