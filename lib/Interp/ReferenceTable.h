//===- ReferenceTable.h - the reference functions --------------------------===//
#ifndef STG_LIB_INTERP_REFERENCETABLE_H
#define STG_LIB_INTERP_REFERENCETABLE_H

#include "stg/Interp/References.h"

namespace stg::interp {

/// o = softmax_t(mask(bias + cap(q k / sqrt c))) v and lse, the logarithm of the softmax's denominator; a sink adds one
/// logit per head to the denominator. Statics: mask, scale (default c^-1/2), softcap (logits become cap tanh(x / cap)).
std::vector<Tensor> attend(const ReferenceCall &call);
/// dq, dk, dv and, with a bias or sink, dbias and dsink, out of q, k, v, bias, sink, o, lse and do. Statics as of
/// attend.
std::vector<Tensor> attendGradient(const ReferenceCall &call);
/// Turns the pair (i, i + c/2) by position * base^(-2i/c) (Su et al. 2021, halves as in GPT-NeoX).
std::vector<Tensor> rotary(const ReferenceCall &call);
/// Row ids of a table: y = table[ids].
std::vector<Tensor> lookup(const ReferenceCall &call);
/// One element per row: y = z[..., ids].
std::vector<Tensor> pick(const ReferenceCall &call);
/// Sum of the rows that `ids` names, over p.
std::vector<Tensor> bag(const ReferenceCall &call);
/// Causal depthwise convolution: y_s = sum_k w_k x_(s - (K - 1) + k), zeros before the start.
std::vector<Tensor> conv1d(const ReferenceCall &call);
/// h_t = exp(dt a) h_(t-1) + dt B_t x_t; y_t = C_t h_t + d x_t (Gu and Dao 2023).
std::vector<Tensor> selectiveScan(const ReferenceCall &call);
/// The same with one decay per head and state p x n (Dao and Gu 2024).
std::vector<Tensor> stateSpaceDual(const ReferenceCall &call);
/// Indices and scores of the k best of e, best first, equal scores by index. A bias counts in the choice alone. With
/// groups: only within the top_groups runs of e whose group_best best scores have the highest sum.
std::vector<Tensor> topk(const ReferenceCall &call);
/// Tokens to expert slots: token by token, choice by choice, each takes the next free slot of its expert; none left: it
/// is dropped.
std::vector<Tensor> dispatch(const ReferenceCall &call);
/// Sum over the choices of p times what the token's slot holds; dropped ones add nothing.
std::vector<Tensor> combine(const ReferenceCall &call);
/// The gradient of combine's p: the product of a token's gradient and what its slot holds, summed over d.
std::vector<Tensor> combineScores(const ReferenceCall &call);
/// A token's score for each choice to the slot that dispatch gives it.
std::vector<Tensor> dispatchScores(const ReferenceCall &call);
/// The reverse: what the slot of each choice holds; 0 for a dropped one.
std::vector<Tensor> collectScores(const ReferenceCall &call);
/// How many choices fall on each expert; all in the first place that is held of p.
std::vector<Tensor> expertCounts(const ReferenceCall &call);
/// The tokens, and places in order: how slots of an expert stand does not matter. Counts come first, as ranks need
/// them.
std::vector<Tensor> arrange(const ReferenceCall &call);
std::vector<Tensor> arrangeBack(const ReferenceCall &call);
/// Quintic Newton-Schulz iteration towards the nearest orthogonal matrix (Jordan et al. 2024).
std::vector<Tensor> newtonSchulz(const ReferenceCall &call);

} // namespace stg::interp

#endif
