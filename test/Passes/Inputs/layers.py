"""Prints a decoder of N equal layers as .stgir: layers.py N [train]. In training a rule tells the first four apart, and
the loss is a sum."""
import sys

layers = int(sys.argv[1])
is_training = sys.argv[2:] == ["train"]
text = """stgir elaborated
program layers mode forward
sizes B = 2, S = 16, D = 8, F = 24, V = 32
input ids : i32[B, S]

body first {
  input ids : i32[B, S]
  weight wte : bf16[V, D]
  %ids = input ids kernel 0
  %wte = weight wte kernel 0
  %x = gather(%wte, %ids) V kernel 1
  output x = %x
}

body block {
  input x : bf16[B, S, D]
  weight w_gate : bf16[D, F]
  weight w_up : bf16[D, F]
  weight w_down : bf16[F, D]
  %x = input x kernel 0
  %w_gate = weight w_gate kernel 0
  %w_up = weight w_up kernel 0
  %w_down = weight w_down kernel 0
  %gate = contract(%x, %w_gate) sum(D) -> bf16 kernel 1
  %up = contract(%x, %w_up) sum(D) -> bf16 kernel 2
  %act = silu(%gate) -> bf16 kernel 3
  %h = mul(%act, %up) -> bf16 kernel 3
  %down = contract(%h, %w_down) sum(F) -> bf16 kernel 4
  %y = add(%x, %down) -> bf16 kernel 5
  output x = %y
}

unit @first : first(ids = input ids)"""
if is_training:
    text = text.replace("mode forward", "mode train").replace("\ninput ids", """
optimizer none in ("blocks[0..4].w_up")
optimizer sgd
input ids""", 1).replace("\nunit @first", """
body last {
  input x : bf16[B, S, D]
  %x = input x kernel 0
  %loss = reduce(%x) sum(B, S, D) -> f32 kernel 1
  loss %loss
}

unit @first""")
print(text)
previous = "first"
for layer in range(layers):
    print("unit @blocks[%d] : block(x = @%s:x)" % (layer, previous))
    previous = "blocks[%d]" % layer
print("unit @last : last(x = @%s:x)" % previous if is_training else "output x = @%s:x" % previous)
