import mlx.core as mx

print(mx.default_device())

# Run a block on CPU explicitly
with mx.default_device(mx.cpu):
    a = mx.ones((1024, 1024))

# Queue work on a new stream and sync before host use
s = mx.new_stream()
with s:
    b = mx.random.normal((2048, 2048)) @ mx.random.normal((2048, 2048))

# Change default device globally (all subsequent ops)
mx.set_default_device(mx.cpu)

# Ensure work completed before converting to Python types / printing
mx.synchronize()
print(b.shape)
